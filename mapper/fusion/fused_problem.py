"""Describe what is searched: a workload whose Einsums may share loops, and what is minimized.

Energies are in joule, latencies in second, usages and capacities in bits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from tilewright.mapper.fusion.boundary.exchange_memories import OutermostCapacity
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, CountedUsage
from tilewright.mapper.fusion.bounds.cost_limit import EnergyLatency
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.fused_einsum import FusedEinsum
from tilewright.mapper.searches.exact.label_metrics import Objective

# objective of energy, latency and the usage of memories: numbers, or arrays
ValueFunction = Callable[..., Any]
OBJECTIVE_VALUES: dict[Objective, ValueFunction] = {
    "energy": lambda energy, latency, *usage: energy,  # noqa: ARG005
    "latency": lambda energy, latency, *usage: latency,  # noqa: ARG005
    "edp": lambda energy, latency, *usage: energy * latency,  # noqa: ARG005
}
# (name of the Einsum, number of its compute, exchanged tensors on chip as bits, placements)
ChoiceName = tuple[str, int, int, tuple[int, ...]]
# a copy, or an Einsum on the path to each of its computes
EinsumEntry = CopyTable | tuple[FusedEinsum, ...]


@dataclass(frozen=True, slots=True)
class TieSearch:
    """Say what a search looks at that only breaks ties between equally good mappings.

    `known_value`: the other metric (joule or second) of the mapping to improve on; a new mapping
    must have less. `cost_limit`: most energy in joule and latency in second of a mapping as good as
    that one. `choice_bounds`: the choices to look at, each by (Einsum, number of its compute,
    exchanged tensors on chip as bits, numbers of placements), with lower bounds of energy and
    latency.
    """

    known_value: float
    cost_limit: EnergyLatency
    choice_bounds: Mapping[ChoiceName, EnergyLatency]


@dataclass(frozen=True, slots=True)
class FusedProblem:
    """Describe a fused search: the Einsums in order, what they may exchange, and what is minimized.

    `exchanged`: the tensors that may stay on chip between Einsums. `einsums`: one entry per Einsum,
    a table of ready mappings for a copy Einsum, else the mapspace of each of its computes.
    `capacities`: bits of the memories in which tensors are exchanged, outermost first; inf where no
    check is needed. `objective`: name or text of the objective. `value`: its function of energy in
    joule, latency in second and the counted usages in bits, in this order. `ties`: set if the
    search only breaks ties. `loops_per_variable`: most shared loops over one rank variable.
    `usage`: the memories whose usage counts. `outermost_capacity`: what to check of the outermost
    memory; None if everything fits there. `is_narrowed`: some placements of the Einsums are left
    out. `by_cost`: their placements are searched in groups, the cheapest first.
    """

    exchanged: ExchangedTensors
    einsums: tuple[EinsumEntry, ...]
    capacities: tuple[float, ...]
    objective: str
    value: ValueFunction
    ties: TieSearch | None = None
    loops_per_variable: int = 1
    usage: CountedUsage = NO_USAGE
    outermost_capacity: OutermostCapacity | None = None
    is_narrowed: bool = False
    by_cost: bool = False

    @property
    def counts_capacity(self) -> bool:
        """Whether the search must track the bits in the exchange memories.

        True if one of them may be too small, or if the usage of one counts. If not, no shared loop
        can pay (theory/fusion.md §2).
        """
        return min(self.capacities) < inf or bool(self.usage.exchange)

    @property
    def copies(self) -> list[CopyTable]:
        """The tables of ready mappings of the copy Einsums."""
        return [entry for entry in self.einsums if isinstance(entry, CopyTable)]

    @property
    def solved(self) -> list[FusedEinsum]:
        """The Einsums other than copies, on the path to each of their computes."""
        entries = (entry for entry in self.einsums if not isinstance(entry, CopyTable))
        return [fused for entry in entries for fused in entry]

    @property
    def counts_latency(self) -> bool:
        """Whether the search must compute latency: for all objectives but energy, and for ties."""
        return self.objective != "energy" or self.ties is not None

    @property
    def prunes_by_latency(self) -> bool:
        """Whether latency rules out so much that computing lower bounds of it pays."""
        return self.objective != "energy" and self.ties is None

    def with_few_placements(self, templates: int) -> FusedProblem:
        """Return the problem with a few promising placements of each Einsum and choice on chip.

        `templates`: how many of their templates are looked at. A placement says which memory keeps
        which tensors; every mapping of the returned problem is one of this problem.
        """
        promising: dict[Hashable, Mapping[int, Sequence[int]]] = {}  # by the key of an Einsum

        def narrowed(fused: FusedEinsum) -> FusedEinsum:
            if fused.key not in promising:
                promising[fused.key] = fused.promising_placements()
            return fused.narrowed(promising[fused.key], templates)

        entries = tuple(
            entry if isinstance(entry, CopyTable) else tuple(map(narrowed, entry))
            for entry in self.einsums
        )
        return replace(self, einsums=entries, is_narrowed=True)

    def value_bound(self, energy: Any, latency: Any) -> Any:
        """Return a lower bound of the objective from lower bounds of energy and latency.

        Joule and second, numbers or arrays; usages count as 0 bits. Valid because an objective
        never falls when one of its arguments rises.
        """
        return self.value(energy, latency, *self.usage.zeros)
