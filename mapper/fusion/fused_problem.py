"""What is searched: a workload whose Einsums may share loops, and what is minimized."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from tilewright.mapper.fusion.boundary.exchange_memories import Outermost
from tilewright.mapper.fusion.boundary.exchanged_tensors import Boundaries
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, Usage
from tilewright.mapper.fusion.copies.fused_copies import LoneTable
from tilewright.mapper.fusion.pmappings.pmapping_builder import Run
from tilewright.mapper.searches.exact.label_metrics import Objective

Pair = tuple[float, float]  # energy, latency
# objective of energy, latency and the usage of memories: numbers, or arrays
Value = Callable[..., Any]
VALUES: dict[Objective, Value] = {
    "energy": lambda energy, latency: energy,  # noqa: ARG005
    "latency": lambda energy, latency: latency,  # noqa: ARG005
    "edp": lambda energy, latency: energy * latency,
}
Solo = LoneTable | tuple[Run, ...]  # a copy, or an Einsum on the way to each of its computes


@dataclass(frozen=True, slots=True)
class Tie:
    """What a search that breaks ties looks at: mappings that cost no more than `most`, of less than
    a known `value`. `choices`: of tensors on chip, by name, with bounds of what they cost."""

    value: float
    most: Pair
    choices: Mapping[tuple[str, int, int], Pair]


@dataclass(frozen=True, slots=True)
class Cascade:
    """The workload to search: its Einsums in order, and the bits of the memories
    that they exchange tensors in.

    `objective`: the name of what `value` computes; `tie`: only ties are left to be broken;
    `repeats`: how many shared loops a rank variable may have; `usage`: the memories whose usage
    `value` depends on, behind energy and latency; `limit`: the room of the outermost memory, if
    that may be too little.
    """

    boundaries: Boundaries
    einsums: tuple[Solo, ...]
    capacities: tuple[float, ...]
    objective: str
    value: Value
    tie: Tie | None = None
    repeats: int = 1
    usage: Usage = NO_USAGE
    limit: Outermost | None = None

    @property
    def counts_room(self) -> bool:
        """Whether it matters how much of these memories is used."""
        return min(self.capacities) < inf or bool(self.usage.inner)

    def bound(self, energy: Any, latency: Any) -> Any:
        """Return the value that costs nothing less than these can come below."""
        return self.value(energy, latency, *self.usage.none)
