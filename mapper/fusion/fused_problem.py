"""Describe what is searched: a workload whose Einsums may share loops, and what is minimized.

Energies are in joule, latencies in second, usages and capacities in bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from tilewright.mapper.fusion.boundary.exchange_memories import OutermostCapacity
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, CountedUsage
from tilewright.mapper.fusion.copies.fused_copies import CopyTable
from tilewright.mapper.fusion.join.cost_limit import EnergyLatency
from tilewright.mapper.fusion.pmappings.pmapping_builder import FusedEinsum
from tilewright.mapper.searches.exact.label_metrics import Objective

# objective of energy, latency and the usage of memories: numbers, or arrays
ValueFunction = Callable[..., Any]
OBJECTIVE_VALUES: dict[Objective, ValueFunction] = {
    "energy": lambda energy, latency: energy,  # noqa: ARG005
    "latency": lambda energy, latency: latency,  # noqa: ARG005
    "edp": lambda energy, latency: energy * latency,
}
# a copy, or an Einsum on the path to each of its computes
EinsumEntry = CopyTable | tuple[FusedEinsum, ...]


@dataclass(frozen=True, slots=True)
class TieSearch:
    """What a search that breaks ties looks at.

    Mappings that cost no more than `cost_limit`, of less than a `known_value`. `choice_bounds`:
    choices of tensors on chip, by name, with lower bounds of what they cost.
    """

    known_value: float
    cost_limit: EnergyLatency
    choice_bounds: Mapping[tuple[str, int, int], EnergyLatency]


@dataclass(frozen=True, slots=True)
class FusedProblem:
    """The workload to search: its Einsums in order, and what they may exchange.

    `capacities`: bits of the memories that they exchange tensors in. `objective`: the name of what
    `value` computes. `ties`: only ties are left to be broken. `loops_per_variable`: how many shared
    loops a rank variable may have. `usage`: the memories whose usage `value` depends on, behind
    energy and latency. `outermost_capacity`: None if the outermost memory can hold everything.
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

    @property
    def counts_capacity(self) -> bool:
        """Whether it matters how much of these memories is used."""
        return min(self.capacities) < inf or bool(self.usage.exchange)

    def value_bound(self, energy: Any, latency: Any) -> Any:
        """Return a lower bound of the value, given lower bounds of energy and latency."""
        return self.value(energy, latency, *self.usage.zeros)
