"""The mapping as one tensor sees it (model.md §2.2) and where its tiles are reserved (§4.1).

A spatial loop belongs to the fanout of its component, not to a place in the loop nest: for each
tensor it stands just above the first holder of that tensor (or the Compute) that lies under the
fanout. So each tensor is analysed on a nest of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tilewright.mapper.model.loops import PathLoop
from tilewright.mapper.model.path import Hold, Path
from tilewright.mapper.model.view import IRRELEVANT, PARTIAL, EinsumView, TensorView
from tilewright.mapper.workload.errors import MappingError

# (path, place of the holder, place of another holder below it) -> does the walk stop there?
StopRule = Callable[[Path, int, int], bool]


# (path, place of the holder, loops, view) -> is a spatial loop above it seen below it?
SinkRule = Callable[[Path, int, dict[int, PathLoop], EinsumView], bool]


@dataclass(frozen=True, slots=True)
class Lowering:
    """Where the walk down from a lower holder ends, by convention."""

    stops: StopRule
    sinks: SinkRule
    view: EinsumView


@dataclass(frozen=True, slots=True)
class ReservationItem:
    """The tile of the tensor held at step `holder` of the path takes its place from here down."""

    holder: int


Item = int | ReservationItem  # a place in path.steps, or a reservation


@dataclass(frozen=True, slots=True)
class TensorNest:
    """What one tensor sees of a path: items from the outermost in; behind them the Compute."""

    tensor: TensorView
    items: tuple[Item, ...]
    path: Path
    loops: dict[int, PathLoop]
    view: EinsumView


def stop_at_any_holder(_path: Path, _holder: int, _other: int) -> bool:
    """Stop at the next holder of whatever tensor (model.md §4.1)."""
    return True


def stop_unless_adjacent(path: Path, holder: int, other: int) -> bool:
    """Pass holders of other tensors that stand in the same run of holders, without a loop between.

    Their order says nothing about time, so the occupancy must not depend on it (conventions.md §4).
    """
    if path.steps[other].tensor == path.steps[holder].tensor:  # type: ignore[union-attr]
        return True
    return any(not isinstance(step, Hold) for step in path.steps[holder + 1 : other])


def no_loop_sinks(
    _path: Path, _holder: int, _loops: dict[int, PathLoop], _view: EinsumView
) -> bool:
    """Take the loops in the order of the mapping (model.md §4.1)."""
    return False


def some_loop_sinks(path: Path, holder: int, loops: dict[int, PathLoop], view: EinsumView) -> bool:
    """Does a spatial loop above the holder belong to a fanout below it?

    The tensor sees that loop right below the holder, wherever it is written, so the walk stops.
    """
    own = view.index[path.steps[holder].component]  # type: ignore[union-attr]  # a Hold
    return any(
        place < holder and loop.spatial is not None and view.index[loop.spatial] > own
        for place, loop in loops.items()
    )


def reservations(
    path: Path, loops: dict[int, PathLoop], tensors: Mapping[str, TensorView], rules: Lowering
) -> dict[int, tuple[int, ...]]:
    """Return {gap: holders}: the tiles of these holders are reserved in front of step `gap`."""
    found: dict[int, tuple[int, ...]] = {}
    first: set[str] = set()
    for place, step in enumerate(path.steps):
        if not isinstance(step, Hold):
            continue
        tensor = tensors[step.tensor]
        if step.tensor not in first or not tensor.streams:
            first.add(step.tensor)  # the topmost holder keeps its whole tile
            gap = place + 1
        elif rules.sinks(path, place, loops, rules.view):
            gap = place + 1
        else:
            gap = _gap(path, place, loops, tensor, rules.stops)
        found[gap] = (*found.get(gap, ()), place)
    return found


def _gap(
    path: Path, holder: int, loops: dict[int, PathLoop], tensor: TensorView, stops: StopRule
) -> int:
    """Walk down from a lower holder: a loop on a relevant variable only streams its tile."""
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
    """Return the steps that `tensor` sees.

    MappingError if a spatial and a temporal loop over the same variable of the tensor would have
    to change places (model.md §2.2).
    """
    waiting = [place for place, loop in loops.items() if loop.spatial is not None]
    nest: list[Item] = []
    group: list[int] = []  # loops that stand together keep the order of the mapping
    end = len(path.steps)
    for place in range(end + 1):
        for holder in reserved.get(place, ()):
            if path.steps[holder].tensor == tensor.name:  # type: ignore[union-attr]
                nest += sorted(group)
                group = []
                nest.append(ReservationItem(holder))
        loop = loops.get(place)
        if loop is not None:
            if loop.spatial is None:
                group.append(place)
            continue
        if place < end and path.steps[place].tensor != tensor.name:  # type: ignore[union-attr]
            continue
        name = path.component if place == end else path.steps[place].component  # type: ignore[union-attr]
        limit = view.index[name]
        above = [s for s in waiting if view.index[loops[s].spatial or ""] <= limit]
        waiting = [s for s in waiting if s not in above]
        nest += sorted(group + above)
        group = []
        if place < end:
            nest.append(place)
    _check_order(nest, loops, tensor, path)
    return TensorNest(tensor, tuple(nest), path, loops, view)


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
