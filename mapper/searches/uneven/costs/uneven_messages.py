"""Count the hops and link loads of uneven tiles on networks, state by state.

These are the counts of model/traffic/messages.py. A spatial loop below a network hands the tiles of
its variable from the first lane to the others. The total distance follows from the tiles above and
below the loop: of f full tiles and one of r values, lane i is i strides away. The other variables
have the tiles of that moment: those that the slot distributes before have their new tiles, the
others the tiles above the slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tilewright.arch.components.components import Component
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.network_hops import (
    ChargedLeg,
    hop_charge,
    network_at,
    network_legs,
)
from tilewright.mapper.searches.uneven.costs.tile_chains import (
    ALL,
    CountKind,
    StateColumn,
    TileChains,
)
from tilewright.mapper.searches.uneven.costs.uneven_counts import (
    CountedSize,
    FormGroup,
    all_moved,
    groups_of,
    moved_values,
)
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops
from tilewright.mapper.workload.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class LaneCrossing:
    """A tensor that a network sends through the lanes of one slot.

    `rate`: joules per value and link; `scale`: hop actions per value and link; `switch`: the
    network is all-to-all, each lane one hop away; `reuses`: lanes may share values. `link_field`,
    `distance_field`: columns of the labels (cost tuples of partial mappings) with the load of the
    busiest link and the longest way; None: not counted, or counted by another tensor.
    """

    tensor: str
    rate: float
    scale: float
    switch: bool
    reuses: bool
    link_field: int | None
    distance_field: int | None


def crossings_of(
    problem: Problem, fields: LabelFields, template: Template, slots: Sequence[Slot]
) -> Mapping[int, tuple[LaneCrossing, ...]]:
    """Return, by slot, the tensors that a network sends through the slot's lanes.

    A slot is a place of a template (a mapping without loops) for loops, a fill or a reserved tile;
    a lane is one instance along a dimension of a fanout. Raises UnsupportedFeature if the longest
    way takes time and two slots distribute one uneven variable: then the way need not end in the
    last lane.
    """
    by_slot: dict[int, list[LaneCrossing]] = {}
    longest: dict[int, ChargedLeg] = {}
    legs = list(network_legs(problem, template, slots))
    for leg in legs:
        longest_leg = longest.setdefault(leg.level, leg)
        if len(leg.dims) > len(longest_leg.dims):
            longest[leg.level] = leg
    for leg in legs:
        distance_field = fields.longest_paths.get(leg.level) if longest[leg.level] is leg else None
        if distance_field is not None and _distance_takes_time(problem.components[leg.level]):
            _refuse_twice(problem, [dim.loops for dim in leg.dims])
        for dim in leg.dims:
            crossing = _crossing(problem, fields, leg, dim.loops, distance_field)
            by_slot.setdefault(dim.slot, []).append(crossing)
    return {slot: tuple(crossings) for slot, crossings in by_slot.items()}


def _distance_takes_time(network: Component) -> bool:
    """Tell whether a network's time depends on its longest path.

    Its latency rule is tried with a path of 0 and of 10^12 links, for a few numbers of hops.
    """
    if network.latency is None:
        return False
    for hops in (0.0, 1.0, 1e6):
        calls = {"hop": hops, "max_link_traffic": hops}
        if network.latency({**calls, "max_hops": 1e12}) > network.latency({**calls, "max_hops": 0}):
            return True
    return False


def _refuse_twice(problem: Problem, dims: Sequence[SpatialLoops]) -> None:
    """Raise UnsupportedFeature if two dimensions below a network distribute one uneven variable."""
    distributed = [
        v
        for loops in dims
        for v in loops.variables
        if v in problem.uneven and max(loops.lanes_of(v)) > 1
    ]
    if len(set(distributed)) < len(distributed):
        names = sorted({v for v in distributed if distributed.count(v) > 1})
        raise UnsupportedFeature(
            f"uneven tiles of {', '.join(names)} over two dimensions below a network that takes"
            " time",
            instead="loop_bounds that leave each such variable one of the dimensions",
        )


def _crossing(
    problem: Problem,
    fields: LabelFields,
    leg: ChargedLeg,
    loops: SpatialLoops,
    distance_field: int | None,
) -> LaneCrossing:
    network = network_at(problem, leg.level)
    scale, joule = hop_charge(problem, leg) or (0.0, 0.0)
    rate = scale * joule
    link = fields.links.get((leg.level, loops.name))
    reuses = leg.tensor in problem.dimension(loops).may_reuse
    return LaneCrossing(
        leg.tensor, rate, scale, network.topology == "all_to_all", reuses, link, distance_field
    )


@dataclass(frozen=True, slots=True)
class _LaneLoop:
    """A spatial loop over one variable, per label.

    `lanes`: of its largest tile; `stride`: links between neighbouring lanes.
    """

    variable: int
    lanes: Ints
    stride: Ints


class SlotStates(NamedTuple):
    """Tile states of the rank variables above and below a slot, shape (labels, variables) each.

    A state is a number that stands for a tile size with its counts of tiles visited. A slot is a
    place of a template (a mapping without loops) for loops, a fill or a reserved tile; a label is
    the tuple of costs of a partial mapping.
    """

    above: Ints
    below: Ints


class UnevenMessages:
    """Adds the costs of networks to partial mappings with uneven tiles.

    `chains`: per rank variable the states of its tile on the way down. Counts are those of the
    model's messages, tile by tile.
    """

    def __init__(self, problem: Problem, chains: Sequence[TileChains]) -> None:
        self._problem = problem
        self._chains = chains
        self._names = list(problem.einsum.bounds)
        self._groups = {a.tensor: groups_of(a) for a in problem.einsum.accesses}

    def charge(
        self,
        dimension: SpatialLoops,
        crossings: Sequence[LaneCrossing],
        step_kinds: Sequence[CountKind] | None,
        states: SlotStates,
        fields: Floats,
    ) -> None:
        """Add the hops and link loads of what a slot's lanes get to labels, in place.

        `fields`, shape (labels, width): costs of partial mappings. `crossings`: tensors sent
        there; `states`: tiles above and below the slot; `step_kinds`: which tiles make up the load
        of a link, None where links take no time. A slot is a place of a template (a mapping
        without loops) for loops, a fill or a reserved tile; a lane is one instance along a
        dimension of a fanout.
        """
        if not crossings:
            return
        loops = list(self._loops(dimension, states.above, states.below))
        for number, loop in enumerate(loops):
            outer = [outer_loop.variable for outer_loop in loops[:number]]
            current = states.above.copy()
            current[:, outer] = states.below[:, outer]
            for crossing in crossings:
                self._charge_loop(
                    crossing, loop, step_kinds, SlotStates(current, states.below), fields
                )

    def _charge_loop(
        self,
        crossing: LaneCrossing,
        loop: _LaneLoop,
        step_kinds: Sequence[CountKind] | None,
        states: SlotStates,
        fields: Floats,
    ) -> None:
        """Add the hops and loads of one tensor at one spatial loop to `fields` of labels, in place.

        `step_kinds`: per variable the kind of count of the busiest lane; None: links are not
        counted.
        """
        hops = self._sent(crossing, loop, states, [ALL] * len(self._names))
        fields[:, 0] += crossing.rate * hops(_distances(crossing, loop))
        if crossing.link_field is not None and step_kinds is not None:
            link = self._sent(crossing, loop, states, step_kinds)
            fields[:, crossing.link_field] += crossing.scale * link(FIRST_LINK)
        if crossing.distance_field is None:
            return
        if crossing.switch:
            fields[:, crossing.distance_field] += np.minimum(loop.lanes - 1, 1)
        else:
            fields[:, crossing.distance_field] += (loop.lanes - 1) * loop.stride

    def _loops(
        self, dimension: SpatialLoops, states_above: Ints, states_below: Ints
    ) -> Iterator[_LaneLoop]:
        """Return the spatial loops of a slot, outermost first, in the order of its variables."""
        variables = [self._names.index(v) for v in dimension.variables]
        lanes = {
            v: -(-self._tile(states_above, v) // self._tile(states_below, v)) for v in variables
        }
        strides = {v: np.ones(len(states_above), np.int64) for v in variables[-1:]}
        for outer, inner in reversed(list(pairwise(variables))):
            strides[outer] = strides[inner] * lanes[inner]
        for v in variables:
            yield _LaneLoop(v, lanes[v], strides[v])

    def _tile(self, states: Ints, v: int) -> Ints:
        tiles: Ints = self._chains[v].column(ALL).tile[states[:, v]]
        return tiles

    def _sent(
        self,
        crossing: LaneCrossing,
        loop: _LaneLoop,
        states: SlotStates,
        kinds: Sequence[CountKind],
    ) -> Callable[[_LaneWeights], Floats]:
        """Return a function that counts the values sent through a loop, each lane with a weight.

        Over all visits; `kinds`: which tiles of each variable count.
        """
        current, below = states
        columns = [self._chains[v].column(kind) for v, kind in enumerate(kinds)]
        variable = self._names[loop.variable]
        access = self._problem.einsum.access(crossing.tensor)
        shared = crossing.reuses and access.relevance(variable) == "irrelevant"
        tile = self._tile(below, loop.variable).astype(np.float64)

        def count(weights: _LaneWeights) -> Floats:
            visits = _visits(columns[loop.variable], current[:, loop.variable])
            cut = _together if shared else _apart
            pieces = [piece for visited in visits for piece in cut(visited, tile, weights)]

            def sizes(v: str) -> list[CountedSize]:
                number = self._names.index(v)
                return pieces if v == variable else _visits(columns[number], current[:, number])

            def extent(v: str) -> Floats:
                return _sum(often * size for often, size in sizes(v))

            def moved(group: FormGroup) -> Floats:
                return moved_values(group, sizes, extent)

            def visited(v: str) -> Floats:
                return _sum(often for often, _ in sizes(v))

            return all_moved(self._groups[crossing.tensor], self._names, moved, visited)

        return count


@dataclass(frozen=True, slots=True)
class _LaneWeights:
    """Weights of lanes, such as their distances in links from the first lane.

    `apart(n)`: (sum over the first n lanes, weight of the lane after them); `together(n)`: the
    weight of n lanes that share their values.
    """

    apart: Callable[[Floats], tuple[Floats, Floats]]
    together: Callable[[Floats], Floats]


def _distances(crossing: LaneCrossing, loop: _LaneLoop) -> _LaneWeights:
    """Return, as weights, the links from the first lane; shared values pass each link once."""
    if crossing.switch:
        return _LaneWeights(FIRST_LINK.apart, lambda lanes: lanes - 1)
    stride = loop.stride.astype(np.float64)
    return _LaneWeights(
        lambda lanes: (stride * lanes * (lanes - 1) / 2, stride * lanes),
        lambda lanes: stride * (lanes - 1),
    )


FIRST_LINK = _LaneWeights(
    lambda lanes: (np.maximum(lanes - 1, 0), np.minimum(lanes, 1)),
    lambda lanes: np.minimum(lanes - 1, 1),
)


def _visits(column: StateColumn, states: Ints) -> list[CountedSize]:
    """Return (number, size in values) of the full and of the odd tiles visited, per label."""
    full = (column.full[states], column.tile[states].astype(np.float64))
    return [full, (column.odd[states], column.remainder[states])]


def _apart(visits: CountedSize, tile: Floats, weights: _LaneWeights) -> list[CountedSize]:
    """Return the tiles that lanes get from the tiles visited, each times its lane's weight.

    `tile`: nominal size in one lane.
    """
    often, size = visits
    lanes, remainder = np.divmod(size, tile)
    full_weight, last_weight = weights.apart(lanes)
    return [(often * full_weight, tile), (often * last_weight * (remainder > 0), remainder)]


def _together(visits: CountedSize, tile: Floats, weights: _LaneWeights) -> list[CountedSize]:
    """Return the tiles of lanes that all get the same values, as (number, size), one entry.

    `visits`: (number, size) of the tiles above; `tile`: size of a lane's tile. The number is
    multiplied by the weight of the lanes in use, ceil(size / tile).
    """
    often, size = visits
    return [(often * weights.together(np.ceil(size / tile)), tile)]


def _sum(values: Iterable[Floats]) -> Floats:
    total: Floats = np.sum(list(values), axis=0)
    return total
