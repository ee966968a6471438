"""What is searched: a workload whose Einsums may share loops, and what is minimized."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from tilewright.mapper.fusion.boundary.exchange_memories import OutermostCapacity
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, CountedUsage
from tilewright.mapper.fusion.copies.fused_copies import CopyTable
from tilewright.mapper.fusion.pmappings.pmapping_builder import FusedEinsum
from tilewright.mapper.searches.exact.label_metrics import Objective

EnergyLatency = tuple[float, float]  # energy, latency
# objective of energy, latency and the usage of memories: numbers, or arrays
ValueFunction = Callable[..., Any]
OBJECTIVE_VALUES: dict[Objective, ValueFunction] = {
    "energy": lambda energy, latency: energy,  # noqa: ARG005
    "latency": lambda energy, latency: latency,  # noqa: ARG005
    "edp": lambda energy, latency: energy * latency,
}
EinsumEntry = (
    CopyTable | tuple[FusedEinsum, ...]
)  # a copy, or an Einsum on the way to each of its computes


@dataclass(frozen=True, slots=True)
class TieSearch:
    """What a search that breaks ties looks at: mappings that cost no more than `most`, of less than
    a known `value`. `choices`: of tensors on chip, by name, with bounds of what they cost."""

    known_value: float
    cost_limit: EnergyLatency
    choice_bounds: Mapping[tuple[str, int, int], EnergyLatency]


@dataclass(frozen=True, slots=True)
class FusedProblem:
    """The workload to search: its Einsums in order, and the bits of the memories
    that they exchange tensors in.

    `objective`: the name of what `value` computes; `tie`: only ties are left to be broken;
    `repeats`: how many shared loops a rank variable may have; `usage`: the memories whose usage
    `value` depends on, behind energy and latency; `limit`: the room of the outermost memory, if
    that may be too little.
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
        """Return the value that costs nothing less than these can come below."""
        return self.value(energy, latency, *self.usage.zeros)
