"""The pmappings of one copy Einsum, for each choice of its tensors on chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.bounds.cost_limit import EnergyLatency
from tilewright.mapper.fusion.copies.copy_choices import CopyChoice, ScoredCopy
from tilewright.mapper.fusion.copies.copy_nodes import (
    CopySpatialLoop,
    components_down_to,
    copy_branch,
    nodes_of_one_lane,
    spatial_loops_above,
    spatial_orders,
    without_null_loops,
    without_storages,
)
from tilewright.mapper.fusion.copies.copy_occupancy import CopyOccupancy, copy_occupancy
from tilewright.mapper.fusion.copies.copy_pmappings import (
    CopyPmapping,
    CopyPmappingMaker,
    lanes_per_variable,
)
from tilewright.mapper.fusion.fused_mapping import Branch, UpperHolder, branch_loops
from tilewright.mapper.fusion.pmappings.pmapping_table import ChosenPmapping, PmappingGroup
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.mapping import Node, Spatial
from tilewright.mapper.workload.einsum import Einsum


class LoopCandidates(NamedTuple):
    """Mappings of a copy Einsum that may stand below loops shared with other Einsums.

    `order`: its tensors on chip, outermost first. `reordered`: the same mappings were added before
    in another order, which counts the same if no loop stands between the tensors. `pmappings`: the
    mappings.
    """

    order: tuple[str, ...]
    reordered: bool
    pmappings: tuple[CopyPmapping, ...]


@dataclass(frozen=True)
class CopyTable:
    """Hold the pmappings of one copy Einsum, for each choice of its tensors on chip.

    A copy moves a tensor and computes nothing; a pmapping is a mapping of one Einsum within the
    whole. `boundary`: (tensor, memory) pairs in which its tensors may stay on chip. `widths`: bits
    per value there. `groups`: pmappings without temporal fused loops. `branches`: mapping nodes;
    the second number of a pmapping's origin is an index into them. `slack`: by how much energy in
    joule and latency in second could be less than the best found, where not every mapping was
    looked at. `is_optimal`: no pmapping without loops that is left out could be better in anything
    that counts. `maker`: places pmappings below loops. `below_loops`: what it places there.
    `shares_loops`: pmappings below shared loops are made, and none is missing. `shares_lanes`: so
    are those with spatial loops above what the copy keeps on chip.
    """

    einsum: Einsum
    boundary: tuple[TensorPlace, ...]
    widths: Mapping[TensorPlace, float]
    groups: tuple[PmappingGroup, ...]
    branches: tuple[Branch, ...]
    slack: EnergyLatency
    is_optimal: bool
    maker: CopyPmappingMaker
    below_loops: tuple[LoopCandidates, ...] = ()
    shares_loops: bool = False
    shares_lanes: bool = True

    @cached_property
    def with_loops(self) -> CopyTable:
        """Table that also has the copy Einsum's mappings below temporal loops shared with others.

        They are made when first asked for.
        """
        groups = [
            g for several in self.below_loops for g in self.maker.groups_below_loops(*several)
        ]
        return replace(self, groups=(*self.groups, *groups))

    def branch(self, chosen: ChosenPmapping) -> Branch:
        """Return the mapping nodes of a chosen mapping of the copy Einsum.

        `chosen`: one of the table, with its fused loops (those it may share with other Einsums).
        They become the loops of the result, and the number of them above each tensor on chip is
        noted. Temporal loops of the copy that are left with one iteration are dropped.
        """
        branch: Branch = self.branches[chosen.group.origins[chosen.pmapping, 1]]
        loops = branch_loops(chosen, self.maker.loop_names)
        depths = zip(self.boundary, chosen.group.depths, strict=True)
        depth_of = {place.tensor: depth for place, depth in depths}
        nodes = (holder.node for holder in branch.upper_holders)
        holders = tuple(UpperHolder(depth_of[node.tensors[0]], node) for node in nodes)
        tiles = {**self.einsum.bounds, **{loop.name.variable: loop.tile for loop in loops}}
        inner = tuple(without_null_loops(tiles, branch.inner_nodes))
        return replace(branch, loops=loops, upper_holders=holders, inner_nodes=inner)


@dataclass(frozen=True)
class TableParts:
    """Collects the groups and the branches of one copy's table.

    `maker`: makes the groups. `groups`, `branches`, `below_loops`: as in CopyTable.
    """

    maker: CopyPmappingMaker
    exchanged: ExchangedTensors
    memories: ExchangeMemories
    groups: list[PmappingGroup] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    below_loops: list[LoopCandidates] = field(default_factory=list)

    def add(
        self, order: tuple[str, ...], choice: CopyChoice, reordered: bool, shares_loops: bool
    ) -> None:
        """Add the mappings of one choice, with its tensors on chip standing in `order`.

        `reordered`: they were added before in another order that counts the same where no loop
        stands between the tensors. `shares_loops`: loops may stand above.
        """
        if not reordered:
            pmappings = self._pmappings(order, choice.mappings)
            self.groups.extend(self.maker.groups_without_loops(order, pmappings))
        if shares_loops and order:
            pmappings = self._pmappings(order, choice.below_loops or ())
            self.below_loops.append(LoopCandidates(order, reordered, tuple(pmappings)))

    def _pmappings(
        self, order: tuple[str, ...], mappings: Sequence[ScoredCopy]
    ) -> list[CopyPmapping]:
        return [pmapping for scored in mappings for pmapping in self._pmappings_of(order, scored)]

    def _pmappings_of(self, order: tuple[str, ...], scored: ScoredCopy) -> Iterator[CopyPmapping]:
        """Yield a mapping as CopyPmappings, one for each order of its shared lanes."""
        loops = self._shared_lanes(scored) if order else []
        shared = shared_tensors(self.exchanged)
        branch = copy_branch(scored.mapping.nodes, self.memories.outermost, shared)
        if order:
            one_lane = replace(branch, inner_nodes=nodes_of_one_lane(branch.inner_nodes, loops))
            branch = without_storages(one_lane, order)
        self.branches.append(branch)
        occupancy = self._occupancy(scored, branch, loops)
        lanes = lanes_per_variable(scored.mapping, self.maker.einsum.bounds)
        for spatial in spatial_orders(loops, scored.space.flat, self.maker.loop_names):
            number = len(self.branches) - 1
            yield CopyPmapping(scored.values, lanes, occupancy, number, spatial)

    def _shared_lanes(self, scored: ScoredCopy) -> list[CopySpatialLoop]:
        """Return the mapping's spatial loops above or at the memory where tensors are exchanged."""
        upper = components_down_to(scored.space.flat, self.memories.second)
        names = frozenset(component.name for component in upper)
        return spatial_loops_above(scored.mapping, self.maker.einsum.bounds, names)

    def _occupancy(
        self, scored: ScoredCopy, branch: Branch, loops: Sequence[CopySpatialLoop]
    ) -> CopyOccupancy:
        """Return what a copy's mapping occupies on chip in one of its shared lanes.

        `branch`: its nodes. `loops`: its spatial loops shared with others.
        """
        tile, spatial = dict(self.maker.einsum.bounds), list[Node]()
        for loop in loops:
            tile[loop.variable] //= loop.lanes
            component, name = loop.dim
            spatial.append(Spatial(loop.variable, tile[loop.variable], name, component))
        storages = [holder.node for holder in branch.upper_holders]
        upper_nodes = (*branch.outermost, *spatial)
        node_of = {s.tensors[0]: len(upper_nodes) + i for i, s in enumerate(storages)}
        values = {a.tensor: float(a.tile_size(tile)) for a in self.maker.einsum.accesses}
        mapping = LoopNest((*upper_nodes, *storages, *branch.inner_nodes))
        occupied = scored.scorer.occupancy(mapping)
        return copy_occupancy(occupied, node_of, self.memories.memories, values)


def shared_tensors(exchanged: ExchangedTensors) -> frozenset[str]:
    """Return the tensors that several Einsums use."""
    return frozenset(t for t, users in exchanged.users.items() if len(users) > 1)
