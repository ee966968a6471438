"""The loops of one path: tile before, tile after, and how often each loop turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tilewright.mapper.mapping.mapping import Spatial, Temporal
from tilewright.mapper.model.path import Hold, Path
from tilewright.mapper.model.view import Count, EinsumView, lowest_terms
from tilewright.mapper.workload.errors import MappingError


@dataclass(frozen=True, slots=True)
class PathLoop:
    """A loop of the path. `outer` and `tile`: largest tile of `variable` above and below it."""

    variable: str
    outer: int
    tile: int
    initial: int | None  # size of the first tile, if the mapping gives one
    spatial: str | None  # component of the fanout, None for a temporal loop
    dim: str
    even: bool  # every tile has `tile` values
    outermost: bool  # no loop on the same variable above

    @property
    def largest(self) -> int:
        """Largest tile below the loop."""
        return self.tile if self.initial is None else max(self.tile, self.initial)

    @property
    def turns(self) -> int:
        """Iterations for the largest outer tile: whole ones, the last may be smaller."""
        if self.initial is None:
            return -(-self.outer // self.tile)
        return 1 + -(-(self.outer - self.initial) // self.tile)


def loops_of(path: Path, view: EinsumView) -> dict[int, PathLoop]:
    """Return the loops by their place in `path.steps`, checked against the Einsum.

    MappingError: variable that the Einsum does not have, tile larger than the tile above,
    unknown fanout, or a variable with more than one iteration whose tiles do not reach 1.
    """
    shape = dict(view.einsum.bounds)
    seen: set[str] = set()
    loops: dict[int, PathLoop] = {}
    for place, step in enumerate(path.steps):
        if isinstance(step, Hold):
            continue
        loop = _loop(place, shape, seen, path, view)
        loops[place] = loop
        seen.add(loop.variable)
        shape[loop.variable] = loop.largest
    left = [f"{name} (tile {size})" for name, size in shape.items() if size > 1]
    if left:
        raise MappingError(
            f"Einsum {path.einsum}: a loop has to reach tile_shape 1 for every rank variable",
            where=path.where(),
            value=", ".join(left),
            instead="add loops with tile_shape 1 for these rank variables above the Compute",
        )
    return loops


def _loop(
    place: int, shape: dict[str, int], seen: set[str], path: Path, view: EinsumView
) -> PathLoop:
    step = path.steps[place]
    assert not isinstance(step, Hold)
    name, tile = step.rank_variable, step.tile_shape
    outer = shape.get(name)
    if outer is None:
        raise MappingError(
            f"Einsum {path.einsum} has no rank variable {name!r}, but a loop above it does",
            where=path.where(place),
            value=name,
            instead=f"one of: {', '.join(view.einsum.bounds)}",
        )
    initial = step.initial_tile_shape if isinstance(step, Temporal) else None
    for size, what in ((tile, "tile_shape"), (initial, "initial_tile_shape")):
        if size is not None and not 1 <= size <= outer:
            raise MappingError(
                f"Einsum {path.einsum}: {what} of a loop over {name} is outside the tile above it",
                where=path.where(place),
                value=size,
                instead=f"from 1 to {outer}",
            )
    spatial, dim = _fanout(place, path, view)
    even = initial in (None, tile) and outer % tile == 0
    return PathLoop(name, outer, tile, initial, spatial, dim, even, name not in seen)


def _fanout(place: int, path: Path, view: EinsumView) -> tuple[str | None, str]:
    step = path.steps[place]
    if not isinstance(step, Spatial):
        return None, ""
    if (step.component, step.name) in view.dims:
        return step.component, step.name
    known = [f"{component}.{dim}" for component, dim in view.dims]
    raise MappingError(
        f"Einsum {path.einsum}: a spatial loop over {step.rank_variable} names a dimension that "
        f"is not on the way to {view.compute.name}",
        where=path.where(place),
        value=f"{step.component}.{step.name}",
        instead=f"one of: {', '.join(known)}" if known else "there is no spatial dimension there",
    )


def average_turns(loop: PathLoop, whole: bool) -> Count:
    """Count the iterations on average, with no remainder (imperfect.md §6).

    With `whole`, the outermost loop over a variable takes whole iterations.
    """
    if loop.outermost and whole:
        return -(-loop.outer // loop.tile)
    return lowest_terms(Fraction(loop.outer, loop.tile))


def parts(loop: PathLoop, outer: int) -> tuple[tuple[int, int], ...]:
    """Return (tile size, how often) of a loop that divides `outer` values, in order of time."""
    found: list[tuple[int, int]] = []
    left = outer
    if loop.initial is not None:
        found.append((min(loop.initial, left), 1))
        left -= found[0][0]
    whole, rest = divmod(left, loop.tile)
    if whole:
        found.append((loop.tile, whole))
    if rest:
        found.append((rest, 1))
    return tuple(found)


def temporal_steps(loops: list[PathLoop], outer: int) -> int:
    """Count the steps that loops over one variable take: time adds, lanes run side by side."""
    if not loops:
        return 1
    loop, below = loops[0], loops[1:]
    inner = [(temporal_steps(below, size), often) for size, often in parts(loop, outer)]
    if loop.spatial is not None:
        return max(steps for steps, _ in inner)
    return sum(steps * often for steps, often in inner)


def swapped_variables(items: Sequence[int], loops: dict[int, PathLoop]) -> frozenset[str]:
    """Find variables whose loops stand in another order here than in the mapping.

    Only variables irrelevant to the tensor can; they keep the turns of the mapping's own order.
    """
    last: dict[str, int] = {}
    swapped = set()
    for item in items:
        loop = loops.get(item)
        if loop is None:
            continue
        if last.get(loop.variable, -1) > item:
            swapped.add(loop.variable)
        last[loop.variable] = item
    return frozenset(swapped)
