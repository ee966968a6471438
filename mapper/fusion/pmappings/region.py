"""Map the tiles in the region of one inner program to states of its lattice.

A state of the lattice is the tile below all fused loops. In the region a variable has that tile
below its innermost loop, and its whole bound above its outermost one. So each place of the region
has a state of its own. Example: bounds (m, n) = (4, 2), label state (2, 1), one loop over m above
the second holder and one over n below it. The tiles are (4, 2) at the first holder and (2, 2) at
the second one (theory/fusion.md §2).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate, tile_shape_places
from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.inner_search import RegionRules, SolvedProgram
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import (
    gap_above_lanes,
    gap_below_lanes,
    lane_stride,
)
from tilewright.mapper.fusion.pmappings.shared.shared_tolls import (
    TollPassage,
    toll_passages,
    tolls_above,
)
from tilewright.mapper.fusion.pmappings.tile_reservations import (
    LoopOrder,
    NumberedLoop,
    Region,
    tiles_above,
)
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.templates.problem import Problem


class FusedLoop(NamedTuple):
    """Temporal loop above the lowest tensor on chip, which Einsums may share.

    `variable`: number of its rank variable. `gap`: number of its place: 2 * i above the spatial
    loops over holder i of the region, 2 * i + 1 right above the holder. `tile`: values of the
    variable below the loop; 0: as many as in the tile shape of the label below.
    """

    variable: int
    gap: int
    tile: int


FusedLoops = tuple[FusedLoop, ...]


class RegionStates:
    """Find the tile shape at each place of the region, given that below it.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip. Above a variable's fused loops a tile has its whole bound, below them the tile of the
    label. Tile shapes are numbers of the lattice (states). `engine`: the lattice. `inner`: the
    program below the region. `rules`: what decides about loops. `needless_first`: per gap,
    variables that no first loop there needs.
    """

    def __init__(self, engine: LabelEngine, inner: InnerProgram, rules: RegionRules) -> None:
        problem, loops = engine.problem, inner.spatial_loops
        shared_windows = rules.varied_windows if rules.shares_tiles else frozenset()
        places = {loop.region_place for loop in loops}
        self.inner_program = inner
        self.region = Region(problem, inner.template.region, shared_windows)
        self.needless_first = needless_first_variables(
            problem, inner.template, rules.varied_windows, places
        )
        self._engine = engine
        self._strides = [lane_stride(engine.lattice, loops[:n]) for n in range(len(loops) + 1)]
        holders = range(len(inner.template.region))
        self._n_spatial = [len(inner.spatial_loops_above(place)) for place in holders]

    @cached_property
    def toll_passages(self) -> list[TollPassage]:
        """Where tensors pass Tolls above the lowest tensor on chip, outermost first.

        A Toll is hardware that charges what passes it.
        """
        return toll_passages(self._engine.problem, self.inner_program)

    @cached_property
    def tile_shape_masks(self) -> list[tuple[int, NDArray[np.bool_]]]:
        """Which tile shapes each tile_shape rule of the architecture admits in the region.

        The region: the holders below the outermost memory, down to the lowest that backs a tensor
        on chip. Pairs of the place of a holder there and a boolean array over all tile shapes of
        the lattice, shape (states,); the rule concerns the tile right above the holder.
        """
        places = tile_shape_places(self._engine.problem, self.inner_program.template)
        return [(place, self._engine.lattice.admitted(shapes)) for place, shapes in places]

    def states_above(self, loops: FusedLoops, gap: int, states: Ints) -> Ints:
        """Return the tile shape at a gap of the region for each label, as states; shape (labels,).

        `loops`: the temporal fused loops. `gap`: number of the place; the tile is that below the
        loops and lanes down to it. `states`: tile shapes below all loops, with all lanes of shared
        spatial loops counted as one, shape (labels,) (theory/fusion.md §2).
        """
        upper = [(loop.variable, loop.tile) for loop in loops if loop.gap <= gap]
        deeper = [(loop.variable, loop.tile) for loop in loops if loop.gap > gap]
        stride = self._strides[self._n_spatial[gap // 2]]
        return with_tiles(self._engine.lattice, states, tiles_above(upper, deeper)) - stride

    def reserved_states(self, tiles: Sequence[NumberedLoop], states: Ints) -> Ints:
        """Return the tile shape that a holder must reserve, per label; shape (labels,).

        Tile shapes are numbers of the lattice. `tiles`: (variable, tile) above the loops and lanes
        that stand below the reserved tile; a variable below 0 is a spatial loop, tile 0 the whole
        bound. `states`: tile shapes below all loops, shape (labels,).
        """
        n_below = sum(number < 0 for number, _ in tiles)
        stride = self._strides[len(self.inner_program.spatial_loops) - n_below]
        return with_tiles(self._engine.lattice, states, dict(tiles)) - stride


def loop_chains(
    variable: int, tile_above: int, gaps: tuple[int, ...], repeats: int
) -> Iterator[FusedLoops]:
    """Yield the ways to place 1 to `repeats` fused loops over one rank variable, outermost first.

    `variable`: its number. `tile_above`: values of it above the first loop, its bound at the start.
    `gaps`: numbers of the places where they may stand, from the lowest up. The innermost loop has
    tile 0, for the tile of the label below it; outer ones have every proper divisor of the tile
    above but 1.
    """
    for gap in gaps:
        yield (FusedLoop(variable, gap, 0),)
        if repeats == 1:
            continue
        lower = tuple(g for g in gaps if g >= gap)
        for tile in divisors(tile_above)[1:-1]:
            for inner_loops in loop_chains(variable, tile, lower, repeats - 1):
                yield (FusedLoop(variable, gap, tile), *inner_loops)


def loop_orders(
    loops: FusedLoops, needless_first: Mapping[int, frozenset[int]]
) -> Iterator[LoopOrder]:
    """Yield the orders of fused loops, outermost first, as (variable, tile) pairs.

    Loops of one gap, a place above a holder of the region, may stand in any order; of two loops
    over one variable the outer one comes first. `needless_first[gap]`: variables that need not be
    the first loop of that gap, because the holder above may as well stand below it: such orders are
    left out.
    """
    groups: dict[int, list[tuple[int, int]]] = {}
    for variable, gap, tile in loops:
        groups.setdefault(gap, []).append((variable, tile))
    gaps = sorted(groups)
    given = {v: [(v, loop.tile) for loop in loops if loop.variable == v] for v, _, _ in loops}
    for chosen in product(*(permutations(groups[gap]) for gap in gaps)):
        firsts = zip(gaps, (group[0][0] for group in chosen), strict=True)
        if any(variable in needless_first.get(gap, ()) for gap, variable in firsts):
            continue
        order = tuple(chain.from_iterable(chosen))
        if all([loop for loop in order if loop[0] == v] == same for v, same in given.items()):
            yield order


def needless_first_variables(
    problem: Problem,
    template: FusedTemplate,
    varied_windows: frozenset[str] = frozenset(),
    places_with_lanes: Collection[int] = (),
) -> dict[int, frozenset[int]]:
    """Return, per gap right below a holder, the variables that no first loop there needs.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip; a gap is a place in it for loops that Einsums may share. A loop fully relevant to the
    tensor held right above makes that holder reserve more than it must: held below the loop it
    moves the same values. So orders of loops that begin with it are left out. `template`: its
    region has the holders. `varied_windows`: tensors that another Einsum may need at that place;
    their holders are skipped. `places_with_lanes`: holders with spatial loops right above. Empty
    where a tile_shape rule holds in the region; holders whose order the architecture gives under
    tensor_order_options are skipped, too.
    """
    if tile_shape_places(problem, template):
        return {}
    needless: dict[int, frozenset[int]] = {}
    rules_of = template.template.placement.rules_of
    names = tuple(problem.einsum.bounds)
    for place, holder in enumerate(template.region[:-1]):
        ordered = (
            problem.conventions.adjacent_holders_shrink
            and rules_of(holder.component).tensor_order_options
        )
        if holder.backing or holder.tensor in varied_windows or ordered:
            continue
        access = problem.einsum.access(holder.tensor)
        next_place = place + 1
        has_lanes = next_place in places_with_lanes
        gap = gap_above_lanes(next_place) if has_lanes else gap_below_lanes(next_place)
        needless[gap] = frozenset(
            number for number, v in enumerate(names) if access.relevance(v) == "relevant"
        )
    return needless


def with_tiles(lattice: Lattice, states: Ints, tiles: Mapping[int, int]) -> Ints:
    """Return tile shapes with other tiles of some variables.

    `states`: numbers of tile shapes in the lattice, shape (labels,), as the result. `tiles`: new
    tile by the number of the variable; 0 stands for the whole bound. Example: bounds (4, 2), state
    of (2, 1), tiles {0: 0}: the state of (4, 1).
    """
    moved = states.copy()
    for column, axis in enumerate(lattice.axes):
        if axis.variable in tiles:
            digit = _exponent(axis.prime, tiles[axis.variable], axis.radix - 1)
            moved += (digit - lattice.digits[states, column]) * axis.stride
    return moved


def _exponent(prime: int, tile: int, largest: int) -> int:
    """Return how often `prime` divides `tile`; `largest` if the tile is 0 (the whole bound)."""
    if not tile:
        return largest
    return next(n for n in range(largest, -1, -1) if tile % prime**n == 0)


class AlikePrograms(NamedTuple):
    """Hold searches that are alike in the region, with the labels of all of them in one list.

    `numbers`: of the searches. `labels`: costs, shape (labels, fields). `states`: tile shape of
    each label. `origins`: per label (position of its search in `numbers`, its number in that
    search).
    """

    numbers: Sequence[int]
    labels: Floats
    states: Ints
    origins: Ints


def alike_programs(solved: Sequence[SolvedProgram], budget: Budget) -> Iterator[AlikePrograms]:
    """Yield the searches that are alike in the region: all is the same there for their labels.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip. Most searches have few labels each (partial mappings) and as many placements of fused
    loops, so that to look at them together saves most of the work. Searches without labels are left
    out. Raises OutOfBudget.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, program in enumerate(solved):
        if len(program.labels):
            groups.setdefault(_region_key(program.inner_program), []).append(number)
    for numbers in groups.values():
        several = [solved[number] for number in numbers]
        budget.check(more_bytes=sum(program.labels.nbytes for program in several))
        places = [np.full(len(program.labels), i) for i, program in enumerate(several)]
        within = [np.arange(len(program.labels)) for program in several]
        yield AlikePrograms(
            numbers,
            np.concatenate([program.labels for program in several]),
            np.concatenate([program.states for program in several]),
            np.stack([np.concatenate(places), np.concatenate(within)], axis=1),
        )


def _region_key(inner: InnerProgram) -> Hashable:
    """Return a key, equal for programs that are the same in the region."""
    template = inner.template
    holders = template.template.holders[: template.lowest_on_chip + 1]
    rules_of = template.template.placement.rules_of
    return (
        holders,
        (template.n_outermost, template.n_private, template.streamed),
        tuple(rules_of(holder.component) for holder in template.region),
        inner.loop_gaps,
        inner.spatial_loops,
        inner.holder_charges,
        tuple(sorted(inner.network_charges.items())),
        tuple(tolls_above(inner)),
    )


def legal_places(
    variable: str,
    template: FusedTemplate,
    shareable: Mapping[str, frozenset[str]],
    banned: Sequence[frozenset[str]],
) -> tuple[int, ...]:
    """Return the places in the region right above which a fused loop over a variable may stand.

    Numbers of holders, the lowest first. The variable must be fully relevant to every tensor on
    chip at or below that place, so that nothing is computed twice or read too early
    (theory/fusion.md §1.3). `shareable[T]`: variables of loops that may be shared above tensor T.
    `banned`: per holder, variables of loops that may not stand right above it.
    """
    holders = template.region
    places: list[int] = []
    for place in range(len(holders) - 1, template.n_private - 1, -1):
        holder = holders[place]
        if holder.backing and variable not in shareable[holder.tensor]:
            break
        if variable not in banned[place]:
            places.append(place)
    return tuple(places)
