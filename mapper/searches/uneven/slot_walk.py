"""Walk one template down, slot by slot, with all partial mappings that may still win.

A label is a partial mapping: a state per rank variable, and fields as in label_fields.py. Two rules
drop labels. Of labels with equal states those stay that no label dominates in the leading fields: a
dominated label has the same completions at a higher cost. A label goes when the lower bounds of its
energy and its steps say that no completion comes below the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.arch.components.components import Comparison
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.uneven.costs.loop_sites import LoopSite, TileOptions
from tilewright.mapper.searches.uneven.costs.remaining_energy import RemainingEnergy, TileGrid
from tilewright.mapper.searches.uneven.costs.slot_charges import SlotCharge
from tilewright.mapper.searches.uneven.costs.tile_chains import ALL, ONE_LANE, LaneRange, TileChains
from tilewright.mapper.searches.uneven.costs.uneven_counts import (
    Cuts,
    FormGroup,
    all_moved,
    groups_of,
    moved_inside,
    moved_values,
    tile_values,
)
from tilewright.mapper.searches.uneven.costs.uneven_messages import SlotStates, UnevenMessages
from tilewright.mapper.searches.uneven.label_pruning import PrunedWalk, Pruning
from tilewright.mapper.searches.uneven.partial_mappings import PartialMappings, joined, split
from tilewright.mapper.searches.uneven.template_plan import CapacityCheck, TemplatePlan
from tilewright.mapper.searches.uneven.uneven_remaining_cost import CompletionBounds, SlotPosition
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops, compares

CHUNK = 20_000  # labels distributed over lanes at a time


class SlotWalk:
    """Walks templates down, slot by slot, with all partial mappings that may still win.

    `fields`: columns of a label (a partial mapping's tuple of costs); `grid`: tile classes on
    which bounds are kept; `chains`: per rank variable the states of its tile. `labels`: how many
    were looked at; `label_bytes`: memory of one. A template is a mapping without its loops; a slot
    is a place of a template for loops, a fill or a reserved tile.
    """

    def __init__(
        self, problem: Problem, fields: LabelFields, grid: TileGrid, chains: list[TileChains]
    ) -> None:
        self._problem = problem
        self._fields = fields
        self._grid = grid
        self._chains = chains
        self._names = tuple(problem.einsum.bounds)
        self._groups = {a.tensor: groups_of(a) for a in problem.einsum.accesses}
        self._messages = UnevenMessages(problem, chains)
        self.labels = 0
        self.label_bytes = 8 * (fields.width + len(chains) + 1)

    def run(
        self, plan: TemplatePlan, outlook: RemainingEnergy, energy: float, pruning: Pruning
    ) -> list[PartialMappings]:
        """Return the partial mappings above each slot of a template and, last, at the Compute.

        `plan`: the compiled template; `outlook`: lower bounds of the energy still to pay;
        `energy`: joules of all operations; `pruning`: which labels stay. The list ends early with
        an empty set if none is left. A slot is a place of a template (a mapping without loops) for
        loops, a fill or a reserved tile. Raises OutOfBudget when time, memory or the number of
        labels ends.
        """
        bounds = self.completion_bounds(plan)
        step = PrunedWalk(plan, bounds, outlook, pruning, self.label_bytes)
        fields = np.zeros((1, self._fields.width))
        fields[0, 0] = energy
        for field in self._fields.gates.values():
            fields[0, field] = 1.0
        starts = [
            chains.forget(np.array([chains.start]), needed)
            for chains, needed in zip(self._chains, plan.needed_kinds[0], strict=True)
        ]
        states = np.stack(starts, axis=1)
        labels = PartialMappings(states, fields, np.zeros(1, np.int64))
        path = [self._charged(step, 0, labels)]
        for index in range(len(plan.slots)):
            if not len(path[-1]):
                break
            labels = self._below(step, index, path[-1])
            path.append(self._charged(step, index + 1, labels))
        return path

    def _below(self, step: PrunedWalk, index: int, labels: PartialMappings) -> PartialMappings:
        """Return the labels below slot `index`: capacity checked, lanes or tiles chosen.

        `step`: the plan and the rules that drop labels.
        """
        slot, capacity = step.plan.slots[index], step.plan.capacity_checks[index]
        labels = labels.numbered
        if capacity is not None:
            return self._reserve(capacity, labels)
        if isinstance(slot, SpatialLoops):
            label_sets = [
                self._distribute(step, index, chunk)
                for chunk in split(labels, len(labels) // CHUNK)
            ]
            return step.joined(label_sets, step.remaining.within[index][-1], index + 1)
        if not isinstance(slot, TemporalLoops):
            return labels
        if slot.single:
            remaining_below = step.remaining.within[index][-1]
            looped = [self._loop(step, index, v, labels, remaining_below) for v in slot.variables]
            return step.joined([labels, *looped], remaining_below, index + 1)
        for number, v in enumerate(slot.variables, 1):
            remaining = step.remaining.within[index][number]
            labels = step.pruned(
                self._loop(step, index, v, labels, remaining), remaining, index + 1
            )
        return labels

    def _charged(self, step: PrunedWalk, index: int, labels: PartialMappings) -> PartialMappings:
        """Add the charges above slot `index` to labels.

        Drop those that a tile_shape rule refuses there.
        """
        pins, charges = step.plan.pins[index], step.plan.charges[index]
        dropped = step.plan.forgotten_variables(index)
        if not (pins or charges or dropped):
            return labels
        for pin in pins:
            labels = labels.take(self._allowed(pin, labels))
        fields = labels.fields.copy()
        for charge in charges:
            count = self.count(charge, labels.states)
            for field, rate in charge.rates:
                fields[:, field] += rate * count
        states = labels.states.copy()
        for v in dropped:
            states[:, v] = self._chains[v].forget(
                states[:, v], step.plan.needed_kinds[index + 1][v]
            )
        paid = PartialMappings(states, fields, labels.origin)
        return step.pruned(paid, step.remaining.charged[index], index)

    def count(self, charge: SlotCharge, states: Ints) -> Floats:
        """Return how many values a charge counts, for each label, shape (labels,).

        `states`, shape (labels, variables): the tile states. A label is the tuple of costs of a
        partial mapping.
        """
        names, kinds = self._names, charge.count.kinds
        columns = {v: self._chains[i].column(kinds[i]) for i, v in enumerate(names)}

        def sizes(v: str) -> list[tuple[Floats, Floats]]:
            column, numbers = columns[v], states[:, names.index(v)]
            full_tiles = [(column.full[numbers], column.tile[numbers].astype(np.float64))]
            odd = column.odd[numbers]
            return [*full_tiles, (odd, column.remainder[numbers])] if odd.any() else full_tiles

        def extent(v: str) -> Floats:
            return columns[v].extent[states[:, names.index(v)]]

        def cuts(v: str) -> Cuts:
            number = names.index(v)
            return self._chains[number].cuts(states[:, number])

        def moved(group: FormGroup) -> Floats:
            if charge.count.inside and group.padded_size is not None:
                return moved_inside(group, cuts)
            return moved_values(group, sizes, extent)

        def visits(v: str) -> Floats:
            return columns[v].count[states[:, names.index(v)]]

        return all_moved(self._groups[charge.count.tensor], names, moved, visits)

    def tile(self, states: Ints, v: int) -> Ints:
        """Return the tile sizes of one rank variable in some partial mappings, shape (labels,).

        `states`, shape (labels, variables): numbers of tile states; `v`: number of the variable.
        In values; smaller last tiles do not count.
        """
        tiles: Ints = self._chains[v].column(ALL).tile[states[:, v]]
        return tiles

    def _allowed(self, pin: Comparison, labels: PartialMappings) -> Any:
        tiles = [
            self.tile(labels.states, i)
            for i, v in enumerate(self._names)
            if v in pin.rank_variables
        ]
        if pin.operator.startswith("product"):
            tiles = [np.prod(tiles, axis=0)] if tiles else [np.ones(len(labels), np.int64)]
        allowed = np.ones(len(labels), bool)
        for tile in tiles:
            allowed &= compares(pin)(tile, pin.value)
        return allowed

    def _reserve(self, capacity: CapacityCheck, labels: PartialMappings) -> PartialMappings:
        access = self._problem.einsum.access(capacity.slot.tensor)
        places = ((i, v) for i, v in enumerate(self._names) if v in access.rank_variables)
        sizes = {v: self.tile(labels.states, i) for i, v in places}
        values = np.ones(len(labels)) * tile_values(access, sizes)
        bits = values * self._problem.value_bits(capacity.slot)
        if capacity.field is None:
            return labels.take(bits <= capacity.size)
        fields = labels.fields.copy()
        fields[:, capacity.field] += bits
        fits = fields[:, capacity.field] <= capacity.size
        if capacity.is_last:
            fields[:, capacity.field] = 0.0
        return PartialMappings(labels.states, fields, labels.origin).take(fits)

    def _loop(
        self,
        step: PrunedWalk,
        index: int,
        variable: str,
        labels: PartialMappings,
        remaining: Floats,
    ) -> PartialMappings:
        """Return the labels below a temporal loop over one variable at slot `index`.

        `remaining`: least joules still to come below it, by class of tile.
        """
        v = self._names.index(variable)
        position = SlotPosition.at(index + 1, labels.states.shape[1])
        site = LoopSite(index, v, None, ONE_LANE, remaining, position)
        return self._extended(step, labels, site)[0]

    def _extended(
        self, step: PrunedWalk, labels: PartialMappings, site: LoopSite
    ) -> tuple[PartialMappings, Ints]:
        """Replace each label by one per tile that the slot can leave of a variable.

        Return the labels and the lanes that each takes (1 for a temporal loop). Bounds are computed
        before the labels are made, so that few are made only to be dropped.
        """
        v, chains = site.variable, self._chains[site.variable]
        unique, inverse = np.unique(labels.states[:, v], return_inverse=True)
        tail = step.plan.tails[site.slot][v]
        states_below = [chains.below(s, tail, site.dim, site.lane_range) for s in unique.tolist()]
        sizes = np.array([len(states) for states, _ in states_below], np.int64)
        if not sizes[inverse].sum():
            return labels.take(np.zeros(len(labels), bool)), np.zeros(0, np.int64)
        options = TileOptions(
            np.concatenate([states for states, _ in states_below]),
            np.concatenate([lanes for _, lanes in states_below]),
            sizes,
        )
        unlooped = step.bounds.shares(labels.states, site.position, but=v)
        looped = step.bounds.shares_of(v, options.states, site.position)
        chunks: list[tuple[PartialMappings, Ints]] = []
        for rows, chosen in options.chunks(inverse):
            step.check(sum(len(chunk) for chunk, _ in chunks))
            self.labels += len(rows)
            shares = unlooped.take(rows).combined(looped.take(chosen))
            promising = step.promising(labels, rows, shares, site)
            kept_labels = labels.take(rows[promising])
            chunks.append(step.extended(kept_labels, chosen[promising], options, site))
        grown = chunks[0][0] if len(chunks) == 1 else joined([chunk for chunk, _ in chunks])
        return grown, np.concatenate([lanes for _, lanes in chunks])

    def _distribute(self, step: PrunedWalk, index: int, labels: PartialMappings) -> PartialMappings:
        """Extend labels by the lanes of the spatial dimension in slot `index`.

        Return those below it. The variables of the dimension take their lanes one after the other.
        In the end only those combinations of lanes stay that are choices of the dimension.
        """
        loops = step.plan.slots[index]
        assert isinstance(loops, SpatialLoops)
        taken = _LanesTaken.none(labels)
        position = SlotPosition.at(index, len(self._names))
        for place, variable in enumerate(loops.variables):
            number = self._names.index(variable)
            position = position.after_variable(number)
            lane_range = LaneRange.of(loops.lanes_of(variable))
            if lane_range.most_lanes > 1:
                remaining = step.remaining.within[index][place + 1]
                site = LoopSite(index, number, loops.dim, lane_range, remaining, position)
                extended, lanes = self._extended(step, taken.labels.numbered, site)
                taken = taken.extended(extended, lanes, lane_range.most_lanes)
                taken = taken.take(taken.used <= max(map(prod, loops.choices)))
        taken = taken.take(np.isin(taken.code, _codes(loops)))
        self._charge_lanes(step.plan, index, labels.states[taken.rows], taken)
        labels_below = PartialMappings(
            taken.labels.states, taken.labels.fields, labels.origin[taken.rows]
        )
        return step.pruned(labels_below, step.remaining.within[index][-1], index + 1)

    def _charge_lanes(
        self, plan: TemplatePlan, index: int, states_above: Ints, taken: _LanesTaken
    ) -> None:
        """Add what the lanes of the dimension in slot `index` cost to labels, in place.

        That is power gates and network hops. `states_above`: tile states above the dimension, shape
        (labels, variables). `taken`: the labels.
        """
        loops = plan.slots[index]
        assert isinstance(loops, SpatialLoops)
        states, fields = taken.labels.states, taken.labels.fields
        gate = self._fields.gates.get((loops.component, loops.name, 0))
        if gate is not None and self._problem.conventions.exact_remainders:
            fields[:, gate] *= taken.used
        elif gate is not None:
            fields[:, gate] *= self._extents(states_above) / self._extents(states)
        self._messages.charge(
            loops,
            plan.crossings.get(index, ()),
            plan.step_kinds,
            SlotStates(states_above, states),
            fields,
        )

    def _extents(self, states: Ints) -> Floats:
        """Return the product of all nominal tile sizes, in values; shape (labels,)."""
        product: Floats = np.ones(len(states))
        for v in range(states.shape[1]):
            product *= self.tile(states, v)
        return product

    def completion_bounds(self, plan: TemplatePlan) -> CompletionBounds:
        """Return the object that computes lower bounds of steps for a template's partial mappings.

        `plan`: the compiled template.
        """
        return CompletionBounds(self._grid, self._chains, plan)

    def steps(self, plan: TemplatePlan, states: Ints) -> Floats:
        """Return the steps in time of the busiest lane, shape (labels,); 1 without time.

        `plan`: the compiled template, which may count energy alone; `states`, shape (labels,
        variables): the tile states. A label is the tuple of costs of a partial mapping; a lane is
        one instance along a dimension of a fanout.
        """
        total = np.ones(len(states))
        if plan.step_kinds is not None:
            for v, kind in enumerate(plan.step_kinds):
                total *= self._chains[v].column(kind).extent[states[:, v]]
        return total

    def trace(self, path: list[PartialMappings], label: int) -> tuple[Tile, ...]:
        """Return the tile below each slot of the complete mapping that ends in a label.

        `path`: the partial mappings (labels) above each slot and at the Compute, as `run` returns
        them; `label`: number in the last set. A slot is a place of a template (a mapping without
        loops) for loops, a fill or a reserved tile. A tile has an extent in values per rank
        variable.
        """
        tiles: list[Tile] = []
        for labels in reversed(path[1:]):
            states = labels.states[label].tolist()
            tiles.append(tuple(c.tile(s) for c, s in zip(self._chains, states, strict=True)))
            label = int(labels.origin[label])
        return tuple(reversed(tiles))


@dataclass(frozen=True, slots=True)
class _LanesTaken:
    """The labels while the variables of one dimension take their lanes one by one.

    Per label: `rows`: number of the label above the slot; `code`: the lanes so far as one integer
    (see `_codes`); `used`: product of the lanes so far.
    """

    labels: PartialMappings
    rows: Ints
    code: Ints
    used: Ints

    @classmethod
    def none(cls, labels: PartialMappings) -> _LanesTaken:
        """Return the labels above the slot, with no lanes taken."""
        count = len(labels)
        zeros, ones = np.zeros(count, np.int64), np.ones(count, np.int64)
        return cls(labels, np.arange(count), zeros, ones)

    def extended(self, labels: PartialMappings, lanes: Ints, most_lanes: int) -> _LanesTaken:
        """Return extended labels with the lanes of one more variable, at most `most_lanes` each."""
        origin = labels.origin
        code = self.code[origin] * (most_lanes + 1) + lanes
        return _LanesTaken(labels, self.rows[origin], code, self.used[origin] * lanes)

    def take(self, keep: Any) -> _LanesTaken:
        """Return some of the labels, by boolean mask."""
        return _LanesTaken(
            self.labels.take(keep), self.rows[keep], self.code[keep], self.used[keep]
        )


def _codes(loops: SpatialLoops) -> Ints:
    """Return each choice of a dimension as one integer, as `_LanesTaken.code` counts lanes."""
    codes = np.zeros(len(loops.choices), np.int64)
    for variable in loops.variables:
        column = np.array(loops.lanes_of(variable), np.int64)
        if column.max() > 1:
            codes = codes * (int(column.max()) + 1) + column
    return codes
