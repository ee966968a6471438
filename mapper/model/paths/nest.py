"""The loop nest of one tensor (theory/model.md §2.2) and the reservation of its tiles (§4.1).

A spatial loop belongs to the fanout of its component, not to a place in the mapping: in the nest
of a tensor it is right above the first holder of that tensor (or the Compute) below the fanout.
Therefore each tensor has a nest of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tilewright.mapper.model.paths.loops import PathLoop
from tilewright.mapper.model.paths.path import Hold, Path
from tilewright.mapper.model.paths.view import IRRELEVANT, PARTIAL, EinsumView, TensorView
from tilewright.mapper.workload.errors import MappingError

# (path, place of the holder, place of a holder below it) -> does the lowering end there?
StopRule = Callable[[Path, int, int], bool]
# (path, place of the holder, loops, view) -> does the tensor see a spatial loop above it below it?
SinkRule = Callable[[Path, int, dict[int, PathLoop], EinsumView], bool]


@dataclass(frozen=True, slots=True)
class Lowering:
    """Rules that decide where the lowering of a holder's reservation ends.

    A tile needs capacity only from the loops that make it stay; its reservation is lowered past
    loops over which every turn uses another part. `stops`: (path, place of the holder, place of a
    holder below) -> whether it ends there. `sinks`: (path, place of the holder, loops, view) ->
    whether a spatial loop above acts below the holder, so that it is not lowered at all. `view`:
    Einsum and path of components.
    """

    stops: StopRule
    sinks: SinkRule
    view: EinsumView


@dataclass(frozen=True, slots=True)
class ReservationItem:
    """An entry of a tensor's loop nest: from here down a holder's tile needs capacity.

    `holder`: place of that holder in `path.steps`.
    """

    holder: int


Item = int | ReservationItem  # a place in path.steps, or a reservation


@dataclass(frozen=True, slots=True)
class TensorNest:
    """The loop nest as one tensor sees it, from the outermost item to the innermost.

    A spatial loop stands right above the first holder of the tensor (or the Compute) below its
    fanout, so each tensor has a nest of its own. `items`: places in `path.steps` (loops and the
    tensor's holders) and ReservationItems (from here down a tile needs capacity). `loops`: place
    to loop. `tensor`, `path`, `view`: the tensor, its Einsum's path, and facts about Einsum and
    architecture.
    """

    tensor: TensorView
    items: tuple[Item, ...]
    path: Path
    loops: dict[int, PathLoop]
    view: EinsumView


def stop_at_any_holder(_path: Path, _holder: int, _other: int) -> bool:
    """Return True: the tile of a holder shrinks with loops down to the next holder of any tensor.

    Rule of the accelforge conventions (theory/model.md §4.1): below that holder no loop makes the
    reserved tile smaller.
    """
    return True


def stop_unless_adjacent(path: Path, holder: int, lower_holder: int) -> bool:
    """Tell whether a lower holder ends the loops with which a holder's reserved tile shrinks.

    A holder of the same tensor does, and one with a loop in between. Adjacent holders, those of
    other tensors with no loop between, do not: their order has no meaning in time
    (docs/conventions.md §4). `holder`, `lower_holder`: places in `path.steps`. Rule of the default
    conventions.
    """
    if path.steps[lower_holder].tensor == path.steps[holder].tensor:  # type: ignore[union-attr]
        return True
    return any(not isinstance(step, Hold) for step in path.steps[holder + 1 : lower_holder])


def no_loop_sinks(
    _path: Path, _holder: int, _loops: dict[int, PathLoop], _view: EinsumView
) -> bool:
    """Return False: no spatial loop keeps a holder's tile from shrinking with the loops below.

    Rule of the accelforge conventions, which keep the order of the mapping (theory/model.md §4.1).
    The other rule is `some_loop_sinks`: a spatial loop written above the holder acts below it.
    """
    return False


def some_loop_sinks(path: Path, holder: int, loops: dict[int, PathLoop], view: EinsumView) -> bool:
    """Tell whether a spatial loop above a holder belongs to a fanout below the holder's memory.

    The tensor sees such a loop right below the holder, so that the holder keeps its whole tile: no
    loop below makes it shrink. `holder`: place in `path.steps`. Rule of the default conventions.
    """
    level = view.index[path.steps[holder].component]  # type: ignore[union-attr]  # a Hold
    return any(
        place < holder and loop.spatial is not None and view.index[loop.spatial] > level
        for place, loop in loops.items()
    )


def reservations(
    path: Path, loops: dict[int, PathLoop], tensors: Mapping[str, TensorView], rules: Lowering
) -> dict[int, tuple[int, ...]]:
    """Return {gap: holders}: the tiles of these holders need capacity from step `gap` down.

    Gaps and holders are places in `path.steps`. A tensor's outermost holder keeps its whole tile.
    A lower holder's tile is reserved below the loops over which every turn uses another part of
    it, up to the first loop that makes it stay (theory/model.md §4.1). `rules`: of the
    conventions.
    """
    holders_at: dict[int, tuple[int, ...]] = {}
    backed: set[str] = set()
    for place, step in enumerate(path.steps):
        if not isinstance(step, Hold):
            continue
        tensor = tensors[step.tensor]
        if step.tensor not in backed or not tensor.streams:
            backed.add(step.tensor)  # the backing holder keeps its whole tile
            gap = place + 1
        elif rules.sinks(path, place, loops, rules.view):
            gap = place + 1
        else:
            gap = _gap(path, place, loops, tensor, rules.stops)
        holders_at[gap] = (*holders_at.get(gap, ()), place)
    return holders_at


def _gap(
    path: Path, holder: int, loops: dict[int, PathLoop], tensor: TensorView, stops: StopRule
) -> int:
    """Return the place in the path from which a lower holder's tile needs capacity.

    It is below the temporal loops over fully relevant variables that follow the holder: every turn
    of these uses another part of the tile. The first loop over an irrelevant variable, or what
    `stops` says, ends them; of loops over a sliding window one is passed.
    """
    component = path.steps[holder].component  # type: ignore[union-attr]  # a Hold
    for place in range(holder + 1, len(path.steps)):
        loop = loops.get(place)
        if loop is None:
            if stops(path, holder, place):
                return place
            continue
        if loop.spatial is not None:
            if loop.spatial != component:
                return place
            continue
        kind = tensor.relevance[loop.variable]
        if kind == IRRELEVANT:
            return place
        if kind == PARTIAL:
            return place + 1  # the window slides: one more loop, then the tile stays
    return len(path.steps)


def nest_of(
    tensor: TensorView,
    path: Path,
    loops: dict[int, PathLoop],
    view: EinsumView,
    reserved: dict[int, tuple[int, ...]],
) -> TensorNest:
    """Return the loop nest as one tensor sees it, from the outermost item to the innermost.

    Spatial loops move right above the tensor's first holder (or the Compute) below their fanout.
    `reserved`: the result of `reservations`: place to the holders whose tiles are reserved before
    it. Raises MappingError if a spatial and a temporal loop over the same variable of the tensor
    would have to change places (theory/model.md §2.2).
    """
    waiting = {p: view.index[loop.spatial] for p, loop in loops.items() if loop.spatial is not None}
    nest: list[Item] = []
    group: list[int] = []  # loops between two holders keep the order of the mapping
    for place in range(len(path.steps) + 1):
        for holder in reserved.get(place, ()):
            if path.steps[holder].tensor == tensor.name:  # type: ignore[union-attr]
                nest += [*sorted(group), ReservationItem(holder)]
                group = []
        if place in loops:
            if loops[place].spatial is None:
                group.append(place)
            continue
        component = _end_of_edge(path, place, tensor)
        if component is None:
            continue
        above = [loop for loop, level in waiting.items() if level <= view.index[component]]
        for loop in above:
            del waiting[loop]
        nest += sorted(group + above)
        group = []
        if place < len(path.steps):
            nest.append(place)
    _check_order(nest, loops, tensor, path)
    return TensorNest(tensor, tuple(nest), path, loops, view)


def _end_of_edge(path: Path, place: int, tensor: TensorView) -> str | None:
    """Return the component at `place` if it is the Compute or holds the tensor; else None."""
    if place == len(path.steps):
        return path.component
    step = path.steps[place]
    assert isinstance(step, Hold)
    return step.component if step.tensor == tensor.name else None


def _check_order(
    nest: list[Item], loops: dict[int, PathLoop], tensor: TensorView, path: Path
) -> None:
    order = [item for item in nest if isinstance(item, int)]
    if all(a < b for a, b in pairwise(order)):
        return
    last: dict[str, int] = {}
    for place in order:
        loop = loops.get(place)
        if loop is None or tensor.relevance[loop.variable] == IRRELEVANT:
            continue
        if last.get(loop.variable, -1) > place:
            raise MappingError(
                f"Einsum {path.einsum}, tensor {tensor.name}: a spatial and a temporal loop over "
                f"{loop.variable} would have to change places, because a holder of {tensor.name} "
                "stands below the spatial loop, but above its fanout",
                where=path.where(place),
                value=loop.variable,
                instead="move the spatial loop down, or that holder up",
            )
        last[loop.variable] = place
