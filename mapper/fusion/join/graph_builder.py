"""Build the graph of ways to join the pmappings of neighbouring Einsums, or of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.mapper.fusion.agreed_tiles import AgreedTiles, building_order
from tilewright.mapper.fusion.bounds.cost_limit import CostLimit
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.join.compatibility_graph import (
    CompatibilityGraph,
    JoinLimits,
    build_graph,
)
from tilewright.mapper.fusion.join.join_preparation import join_steps
from tilewright.mapper.fusion.join.join_step import Tables
from tilewright.mapper.fusion.pmappings.on_chip_choice import OnChipChoice, PmappingFilter
from tilewright.mapper.fusion.pmappings.pmapping_builder import TableBuilder
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingTable
from tilewright.mapper.searches.budget import Budget

ChoiceLimits = Sequence[Mapping[OnChipChoice, CostLimit]]  # per Einsum


class GraphBuilder:
    """Make the tables of Einsums within cost limits, and join them to a compatibility graph.

    A table holds the pmappings (mappings of one Einsum within the whole) of one choice of tensors
    on chip. `problem`: the workload. `builder`: makes the tables. `budget`: limits. `size`: nodes
    and edges of all graphs so far.
    """

    def __init__(self, problem: FusedProblem, builder: TableBuilder, budget: Budget) -> None:
        self._problem = problem
        self._builder = builder
        self._budget = budget
        self.size = 0

    def graph(
        self,
        limits: ChoiceLimits,
        join_limits: JoinLimits,
        pmapping_filter: PmappingFilter,
        first: int = 0,
    ) -> CompatibilityGraph | None:
        """Return the graph of pmappings within the cost limits; None if an Einsum has none.

        `limits`: of the Einsums from number `first` on, what each may cost with which tensors on
        chip. Where they are not all Einsums, no tensor that others use may be on chip, and
        `join_limits` count from `first`. Raises OutOfBudget, and UnsupportedFeature for what cannot
        be modelled.
        """
        tables: dict[int, Tables] = {}
        agreed = AgreedTiles(self._problem.exchanged)
        end = first + len(limits)
        for number in building_order(self._problem.exchanged.workload.einsums[first:end]):
            entry = self._problem.einsums[first + number]
            if isinstance(entry, CopyTable):
                with_loops = pmapping_filter.fused and entry.shares_loops
                tables[number] = (entry.with_loops if with_loops else entry,)
                continue
            several = self._tables(limits[number], pmapping_filter, agreed)
            if not any(table.groups for table in several):
                return None
            agreed.add(several)
            tables[number] = tuple(table.numbered(i) for i, table in enumerate(several))
        self._builder.forget_searches()
        exchanged = self._problem.exchanged
        if len(limits) < len(self._problem.einsums):
            exchanged = exchanged.part(first, end)
        in_order = [tables[number] for number in range(len(tables))]
        steps = join_steps(exchanged, in_order, self._problem.outermost_capacity)
        graph = build_graph(steps, join_limits, self._budget)
        self.size += graph.size
        return graph

    def _tables(
        self,
        limits: Mapping[OnChipChoice, CostLimit],
        pmapping_filter: PmappingFilter,
        agreed: AgreedTiles,
    ) -> list[PmappingTable]:
        """Return the tables of one Einsum, one per compute and set of tensors on chip.

        `limits`: what it may cost with each choice. `agreed`: the tiles of tensors on chip that
        Einsums have whose tables were made before; pmappings with other tiles are not made.
        """
        return [
            self._builder.table(
                choice,
                replace(
                    pmapping_filter,
                    cost_limit=limit,
                    agreed=agreed.of(choice.fused_einsum, choice.mask),
                ),
            )
            for choice, limit in limits.items()
        ]
