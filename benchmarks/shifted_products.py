"""Compute docs/validation/shifted-products.md: products on large grids, by shifts and broadcasts.

    python benchmarks/shifted_products.py

Cannon's mapping on squares of elements, and one whose operands enter: executed and compared with
numpy where a run is short, else between a lower and an upper bound. Some two minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.lowering.lower_bound.cycle_bound import lower_bound
from tilewright.simulator.lowering.plan import plan_of
from tilewright.simulator.lowering.upper_bound.most_cycles import most_cycles

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "validation" / "shifted-products.md"
HARDWARE = ROOT / "studies" / "hardware" / "wafer_grid.yaml"
MACHINE = "wse3-sdk-sim"
LARGEST_RUN = 32 * 32
"""Elements up to which a product runs: beyond, a run takes minutes."""
HEAD = """\
# Products on large grids

Written by `python benchmarks/shifted_products.py`; do not edit. Cannon's mapping (theory/grid.md
§11) of `C[m, n] = A[m, k] * B[k, n]` on P × P elements of the profile wse3-sdk-sim: each element
has a tile of A and of B before the run, which go round rings of rows and columns, and keeps its
tile of C. No word crosses a border. "cycles": of an execution on numbers, equal to numpy, its
counts equal to the model's. "at least", "at most": the bounds of the plan. Both hold for rings of
any length, so the cycles on 720 × 720 elements, which are too many to run, lie between them. "MAC":
multiply-adds per element and cycle, of the cycles, or else of "at most". The peak of f32 is 1 (the
rate of fmacs with two vectors in memory), that of f16 is 4.

| tiles | type | elements | at least | cycles | at most | MAC |
|---|---|---:|---:|---:|---:|---:|
"""
BROADCAST = """
## Operands that enter

The same product with A and B outside: parts of k enter over the west and the north border, are
broadcast along rows and along columns, and are worked on while the next ones come (theory/grid.md
§12 has the upper bound). C stays in the elements.

| tiles of C | type | elements | k | at least | cycles | at most | MAC |
|---|---|---:|---:|---:|---:|---:|---:|
"""
ENDS = """
## What this says

- A miss: with 16 × 16 tiles of f32 shifts of both operands do not reach the wanted 0.70 of the rate
  of fmacs on a large grid. Of at least 5,888 cycles of a turn, 4,864 are those of 256 operations on
  16 values, with 3 around each, and 1,024 those of the words that an element sends and receives,
  each of which takes its one issue slot for a cycle (theory/wafer.md §4.2): that is 0.696, and only
  the last turn has no words. A broadcast takes half of the words: 0.72 on up to 64 × 64 elements
  (published-programs.md).
- Reached by a broadcast: with 16 × 16 tiles of f32 the product on 720 × 720 elements has at least
  0.74 of that rate while both operands enter over 62 channels, 0.75 where k is 11,520, as the
  search finds (published-programs.md). It was not run: that is what the theorem on the upper bound
  says of any run. The result stays: 720 tiles of it would leave over a link of the south border, in
  184,320 cycles more and, as 720 columns share 62 channels, in 2.2 million.
- By shifts on 720 × 720 elements, tiles of 32 × 32 have 0.80 at least, and those of 44 × 44, which
  fill 39 of 48 KiB with two buffers for A and B, 0.85.
- The cycles of a large grid are known between bounds 0.1 to 0.9 % apart, not exactly. There is no
  proof by the pattern (theory/engines.md §11): up to four microthreads of an element want its issue
  slot in the same cycle, which the certificate of the fast engine refuses (§5 there); and the
  two short links of a ring let some turns begin a few cycles earlier, elsewhere in each turn.
"""


@dataclass(frozen=True)
class Product:
    """A product with square tiles of the result on a square of elements.

    `tile`: values along a side of a tile; `bits`: of a value; `elements`: along a side. `steps`:
    for operands that enter, the number of parts of k, and `part`: values of k in each; 0 for
    operands that shift.
    """

    tile: int
    bits: int
    elements: int
    steps: int = 0
    part: int = 0

    @property
    def k(self) -> int:
        """Values of the summed variable."""
        return self.steps * self.part or self.tile * self.elements

    def read(self) -> SpaceTime:
        """Return its mapping as loops in space and time."""
        size = self.tile * self.elements
        text = (
            f"workload:\n  rank_sizes: {{M: {size}, K: {self.k}, N: {size}}}\n"
            f"  bits_per_value: {{All: {self.bits}}}\n"
            f"  persistent_tensors: {'Nothing' if self.steps else 'A | B'}\n"
            "  einsums: ['C[m, n] = A[m, k] * B[k, n]']\n"
        )
        workload = load_workload(load_document("product.yaml", text=text))
        arch = load_arch(HARDWARE, variables={"GridX": self.elements, "GridY": self.elements})
        einsum = workload.einsums[0]
        rings = ("", "") if self.steps else ("X", "Y")
        nodes = (
            *((Storage(("A", "B"), "Host"),) if self.steps else ()),
            Spatial("n", self.tile, "X", "Grid"),
            Spatial("m", self.tile, "Y", "Grid"),
            Storage(("C",), "SRAM"),
            Temporal("k", self.part or self.tile),
            Storage(("A",), "SRAM", buffers=2, shift=rings[0]),
            Storage(("B",), "SRAM", buffers=2, shift=rings[1]),
            Temporal("m", 1),
            Temporal("k", 1),
            Storage(("A",), "Scalar"),
            Temporal("n", 1),
            ComputeNode("C", "Engine"),
        )
        return space_time(grid_path(arch, workload, einsum), einsum, Mapping(nodes))

    def row(self) -> str:
        """Return its line of the table."""
        read, settings = self.read(), ExecutionSettings(machine=MACHINE)
        profile = settings.profile(read.grid)
        reserved, channels = profile.sram_reserved_bytes, profile.border_channels
        plan = plan_of(read, reserved, channels=channels)
        least, most, cycles = lower_bound(plan, profile), most_cycles(plan, profile), None
        if self.elements**2 <= LARGEST_RUN:
            cycles = execute_einsum(read, settings).cycles
            assert least <= cycles, self
            assert most is None or cycles <= most, self
        taken = cycles or most
        rate = "–" if taken is None else f"{self.tile**2 * self.k / taken:.3f}"
        part = f"{self.k:,} | " if self.steps else ""
        square = f"{self.elements} × {self.elements}"
        return (
            f"| {self.tile} × {self.tile} | f{self.bits} | {square} | {part}"
            f"{least:,} | {_number(cycles)} | {_number(most)} | {rate} |"
        )


PRODUCTS = (
    *(Product(16, 32, elements) for elements in (4, 8, 16, 32, 720)),
    *(Product(32, 32, elements) for elements in (4, 8, 16, 720)),
    *(Product(44, 32, elements) for elements in (4, 8, 720)),
    *(Product(32, 16, elements) for elements in (4, 8, 16, 720)),
    *(Product(64, 16, elements) for elements in (4, 8, 720)),
)

ENTERING = (
    *(Product(16, 32, elements, elements // 4, 64) for elements in (8, 16, 32)),
    Product(16, 32, 512, 64, 128),
    Product(16, 32, 720, 45, 128),
    Product(32, 32, 720, 45, 64),
)


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def lines(products: Sequence[Product]) -> Iterator[str]:
    """Yield the lines of a table."""
    for product in products:
        line = product.row()
        print(line, flush=True)
        yield line


def main() -> int:
    shifted, entering = ("\n".join(lines(products)) for products in (PRODUCTS, ENTERING))
    PAGE.write_text(f"{HEAD}{shifted}\n{BROADCAST}{entering}\n{ENDS}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
