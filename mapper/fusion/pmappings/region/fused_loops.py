"""Where fused loops may stand in the region, and in which orders (theory/fusion.md §2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, permutations, product
from typing import NamedTuple

from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate, tile_shape_places
from tilewright.mapper.fusion.pmappings.region.tile_reservations import LoopOrder
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import (
    gap_above_lanes,
    gap_below_lanes,
)
from tilewright.mapper.mapspace.factors import divisors
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
