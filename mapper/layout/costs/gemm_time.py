"""Cycles of a matrix product on a grid of cores with a matrix unit each (layouts.md §13).

The slowest of the matrix unit, the unpacker, the streams of both operands and DRAM, after a
constant start; then the result is written, unless it stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tilewright.arch.errors import SpecError

if TYPE_CHECKING:  # a machine is checked without the layouts of a product
    from tilewright.mapper.layout.costs.gemm import Gemm
    from tilewright.mapper.layout.machines.layout_machine import LayoutMachine

_RATES: Final = (
    "unpacker_bytes_per_cycle",
    "core_dram_read_bytes_per_cycle",
    "core_dram_write_bytes_per_cycle",
    "core_multicast_bytes_per_cycle",
    "dram_bytes_per_second",
    "clock_hz",
    "gemm_start_cycles",
    "gemm_tile_cycles",
)


@dataclass(frozen=True, slots=True)
class GemmTime:
    """Predicted cycles, and the resource that decides them.

    `cycles`: start + the greatest of `resources` + `write`. `resources`, in cycles: "matrix unit",
    "unpacker", "operand 0", "operand 1" (the core that sends it on to its row or column), "DRAM".
    `dram_bytes`: read and written.
    """

    start: float
    resources: dict[str, float]
    write: float
    dram_bytes: int

    @property
    def cycles(self) -> float:
        """Cycles of the whole product."""
        return self.start + max(self.resources.values()) + self.write

    @property
    def limit(self) -> str:
        """Name of the resource that takes longest."""
        return max(self.resources, key=lambda name: (self.resources[name], name))


def gemm_time(gemm: Gemm, machine: LayoutMachine) -> GemmTime:
    """Return the predicted cycles of a matrix product on a machine.

    Rates and constants are those of the machine. Raises SpecError for a machine without them or
    without the fidelity. Whether the data fit is not asked here (`Gemm.packed`).
    """
    rates = _rates(gemm, machine)
    high, wide, deep = gemm.core_tiles
    row_passes, column_passes = gemm.passes
    size = gemm.tile_bytes
    operand_0 = deep * high * size * column_passes
    operand_1 = deep * wide * size * row_passes
    send_0, send_1 = (1 / rates["multicast"] if cells > 1 else 0.0 for cells in gemm.grid[::-1])
    read = 1 / rates["core_dram_read_bytes_per_cycle"]
    rows, columns = gemm.grid
    dram = operand_1 * columns + (0 if gemm.resident else operand_0 * rows)
    resources = {
        "matrix unit": gemm.tile_products * (rates["tile_cycles"] + rates["gemm_tile_cycles"]),
        "unpacker": gemm.tile_products * size / rates["unpacker_bytes_per_cycle"],
        "operand 0": operand_0 * (send_0 + (0 if gemm.resident else read)),
        "operand 1": operand_1 * (send_1 + read),
        "DRAM": dram * rates["clock_hz"] / rates["dram_bytes_per_second"],
    }
    written = 0 if gemm.resident else high * wide * size
    write = written / rates["core_dram_write_bytes_per_cycle"]
    return GemmTime(rates["gemm_start_cycles"], resources, write, dram + written * rows * columns)


def check_gemm_machine(machine: LayoutMachine) -> None:
    """Raise SpecError for a machine whose matrix products cannot be timed."""
    missing = [name for name in _RATES if name not in machine.rates]
    if "l1" not in machine.memories:
        missing.insert(0, "memory l1")
    if missing:
        raise SpecError(
            f"machine {machine.name} has no {missing[0]}: its matrix products cannot be timed",
            instead="wormhole or blackhole",
        )


def _rates(gemm: Gemm, machine: LayoutMachine) -> dict[str, float]:
    check_gemm_machine(machine)
    fidelity = f"tile_cycles_{gemm.fidelity}"
    if fidelity not in machine.rates:
        known = [name[12:] for name in machine.rates if name.startswith("tile_cycles_")]
        raise SpecError(
            f"machine {machine.name} has no fidelity {gemm.fidelity!r}",
            value=gemm.fidelity,
            instead=f"one of {', '.join(known)}",
        )
    rates = {name: machine.rates[name] for name in _RATES}
    multicast = rates["core_multicast_bytes_per_cycle"]
    return {**rates, "multicast": multicast, "tile_cycles": machine.rates[fidelity]}
