"""The loops of one path: the tile above and below each loop, and its turns.

Example: m = 11 in tiles of 8 turns twice, with tiles of 8 and 3; on average 11/8 times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tilewright.mapper.mapping.mapping import Spatial, Temporal
from tilewright.mapper.model.paths.path import Hold, Path
from tilewright.mapper.model.paths.view import Count, EinsumView, lowest_terms
from tilewright.mapper.workload.errors import MappingError


@dataclass(frozen=True, slots=True)
class PathLoop:
    """A loop on the path of an Einsum, with the tiles above and below it.

    `variable`: its rank variable. `outer`, `tile`: largest tile above and regular tile below, in
    values. `initial`: the first tile, if the mapping gives one. `spatial`, `dim`: component and
    dimension of a spatial loop; None and "" for a temporal one. `even`: all tiles have `tile`
    values. `outermost`: no loop over the same variable is above.
    """

    variable: str
    outer: int
    tile: int
    initial: int | None
    spatial: str | None
    dim: str
    even: bool
    outermost: bool

    @property
    def largest(self) -> int:
        """Largest tile below the loop, in values: the first tile if that is the larger one."""
        return self.tile if self.initial is None else max(self.tile, self.initial)

    @property
    def turns(self) -> int:
        """Number of iterations over the largest tile above; the last iteration may be smaller.

        Example: 11 values in tiles of 8 make 2 turns.
        """
        if self.initial is None:
            return -(-self.outer // self.tile)
        return 1 + -(-(self.outer - self.initial) // self.tile)


def loops_of(path: Path, view: EinsumView) -> dict[int, PathLoop]:
    """Return the loops of one Einsum's path, by their place in `path.steps`.

    Raises MappingError if the Einsum lacks a loop's variable, a tile is below 1 or larger than the
    tile above, a spatial loop names an unknown dimension, or the loops of a variable do not end at
    a tile of 1.
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
    incomplete = [f"{name} (tile {size})" for name, size in shape.items() if size > 1]
    if incomplete:
        raise MappingError(
            f"Einsum {path.einsum}: a loop has to reach tile_shape 1 for every rank variable",
            where=path.where(),
            value=", ".join(incomplete),
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
    for size, field in ((tile, "tile_shape"), (initial, "initial_tile_shape")):
        if size is not None and not 1 <= size <= outer:
            raise MappingError(
                f"Einsum {path.einsum}: {field} of a loop over {name} is outside the tile above it",
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
    dims = [f"{component}.{dim}" for component, dim in view.dims]
    raise MappingError(
        f"Einsum {path.einsum}: a spatial loop over {step.rank_variable} names a dimension that "
        f"is not on the way to {view.compute.name}",
        where=path.where(place),
        value=f"{step.component}.{step.name}",
        instead=f"one of: {', '.join(dims)}" if dims else "there is no spatial dimension there",
    )


def average_turns(loop: PathLoop, rounds_up: bool) -> Count:
    """Return the average number of turns of a loop: tile above / tile below, a fraction.

    With `rounds_up`, the outermost loop over a variable makes a whole number of turns instead.
    Example: 11 values in tiles of 8 turn 11/8 times (theory/imperfect.md §6).
    """
    if loop.outermost and rounds_up:
        return -(-loop.outer // loop.tile)
    return lowest_terms(Fraction(loop.outer, loop.tile))


def parts(loop: PathLoop, outer: int) -> tuple[tuple[int, int], ...]:
    """Return pairs (tile size, number of turns) of a loop over `outer` values, in order of time.

    Sizes times turns add up to `outer`. Example: 7 values in tiles of 3: (3, 2), (1, 1).
    """
    sizes: list[tuple[int, int]] = []
    remaining = outer
    if loop.initial is not None:
        sizes.append((min(loop.initial, remaining), 1))
        remaining -= sizes[0][0]
    full_tiles, last_tile = divmod(remaining, loop.tile)
    if full_tiles:
        sizes.append((loop.tile, full_tiles))
    if last_tile:
        sizes.append((last_tile, 1))
    return tuple(sizes)


def temporal_steps(loops: list[PathLoop], outer: int) -> int:
    """Return the steps in time of a chain of loops over one variable.

    `loops`: outermost first; `outer`: values to cover. Turns in time add; of turns in space the
    longest counts (theory/imperfect.md §4).
    """
    if not loops:
        return 1
    loop, inner_loops = loops[0], loops[1:]
    inner = [(temporal_steps(inner_loops, size), often) for size, often in parts(loop, outer)]
    if loop.spatial is not None:
        return max(steps for steps, _ in inner)
    return sum(steps * often for steps, often in inner)


def swapped_variables(items: Sequence[int], loops: dict[int, PathLoop]) -> frozenset[str]:
    """Return the variables whose loops stand in another order in a tensor's nest.

    `items`: places in the path of loops and holders, in the order of the tensor's loop nest, which
    moves spatial loops to their fanout; `loops`: place to loop. Only variables irrelevant to the
    tensor can change places; their loops keep the turns they have in the mapping.
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
