"""Seconds of a blocked matrix product on one core with a tensor engine (layouts.md §14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tilewright.arch.errors import SpecError

if TYPE_CHECKING:  # a machine is checked without the layouts of a product
    from tilewright.mapper.layout.costs.blocked_matmul import BlockedMatmul
    from tilewright.mapper.layout.machines.layout_machine import LayoutMachine

_RATES: Final = (
    "clock_hz",
    "vector_clock_hz",
    "stationary_load_cycles",
    "vector_access_cycles",
    "kernel_dma_bytes_per_second",
)


@dataclass(frozen=True, slots=True)
class BlockedMatmulTime:
    """Predicted seconds, and the resource that decides them.

    `resources`: seconds of what overlaps: "tensor engine", "vector engine", "DMA"; `waiting`:
    seconds of what does not, by name: loads into a single buffer, evictions from a single bank.
    """

    resources: dict[str, float]
    waiting: dict[str, float]

    @property
    def seconds(self) -> float:
        """Seconds of the whole product."""
        return max(self.resources.values()) + sum(self.waiting.values())

    @property
    def limit(self) -> str:
        """Name of the resource that takes longest."""
        return max(self.resources, key=lambda name: (self.resources[name], name))


def blocked_matmul_time(matmul: BlockedMatmul, machine: LayoutMachine) -> BlockedMatmulTime:
    """Return the predicted seconds of a blocked product; whether it fits is not asked.

    Raises SpecError for a machine without the rates.
    """
    from tilewright.mapper.layout.costs.blocked_matmul import TILE

    check_blocked_machine(machine)
    rates = machine.rates
    tiles = matmul.tiles
    per_matmul = TILE["n"] + rates["stationary_load_cycles"]
    tensor = tiles["m"] * tiles["k"] * tiles["n"] * per_matmul / rates["clock_hz"]
    per_eviction = TILE["n"] + rates["vector_access_cycles"]
    vector = matmul.evictions * per_eviction / rates["vector_clock_hz"]
    names = ("load of operand 0", "load of operand 1")
    *loads, result = (size / rates["kernel_dma_bytes_per_second"] for size in matmul.hbm_bytes)
    waiting = {
        name: seconds
        for name, seconds, depth in zip(names, loads, matmul.depths, strict=True)
        if depth == 1
    }
    resources = {"tensor engine": tensor, "DMA": sum(loads) - sum(waiting.values()) + result}
    if matmul.psum_banks == 1:
        waiting["eviction"] = vector
    else:
        resources["vector engine"] = vector
    return BlockedMatmulTime(resources, waiting)


def check_blocked_machine(machine: LayoutMachine) -> None:
    """Raise SpecError for a machine whose blocked products cannot be timed."""
    missing = [f"memory {name}" for name in ("sbuf", "psum") if name not in machine.memories]
    missing += [name for name in _RATES if name not in machine.rates]
    if missing:
        raise SpecError(
            f"machine {machine.name} has no {missing[0]}: its blocked products cannot be timed",
            instead="trainium1",
        )
