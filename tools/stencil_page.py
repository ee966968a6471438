"""Compute docs/validation/stencil.md: the star stencil beside recorded cycles per iteration.

Run `python tools/stencil_page.py ROWS.json` to write the page anew. The recorded rows are those of
the reference data, wse/stencil_rows.json; the conformance test runs the rows that it finds there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from jinja2 import StrictUndefined, Template

from tilewright.simulator.examples.cell_stencil import cell_stencil
from tilewright.simulator.examples.star_stencil import Tile, star_stencil
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

TEMPLATE = Path(__file__).parent / "stencil_page.md.j2"
PAGE = Path(__file__).parent.parent / "docs" / "validation" / "stencil.md"
MACHINES = {"wse2": "wse2-sdk-sim", "wse3": "wse3-sdk-sim"}
ITERATIONS = 4
CELL_ITERATIONS = 6, 16
FREE_SIDE = 4
"""Cells of the shorter side from which the published kernel of radius 1 does not wait on WSE-3."""


@dataclass(frozen=True)
class StencilRow:
    """Cycles per iteration of a tile on a machine, simulated and recorded."""

    tile: Tile
    machine: str
    recorded: int

    @property
    def waits(self) -> bool:
        """Whether the element in the middle waits for its halos (see the page)."""
        large = min(self.tile.height, self.tile.width) >= FREE_SIDE
        return self.tile.radius > 1 or self.machine != "wse3" or not large

    @property
    def simulated(self) -> int:
        return cycles_per_iteration(self.tile, MACHINES[self.machine], self.waits)

    @property
    def error(self) -> float:
        return self.simulated / self.recorded - 1

    def __str__(self) -> str:
        height, width, radius = self.tile
        form = "waits" if self.waits else "goes on"
        return (
            f"| {width} x {height} | {radius} | {form} | {self.simulated} | {self.recorded} | "
            f"{self.error:+.2%} |"
        )


@cache
def cycles_per_iteration(tile: Tile, profile: str, waits: bool) -> int:
    """Return the cycles of an iteration of the element in the middle of 3 x 3, in steady state."""
    program = star_stencil((3, 3), tile, ITERATIONS, waits=waits)
    result = Machine(program, load_profile(profile)).run(timeline=[(1, 1)])
    starts = [e.start for e in result.trace.timeline if e.operation == "fmuls"]
    per_iteration = len(starts) // ITERATIONS
    return starts[-per_iteration] - starts[-2 * per_iteration]


@cache
def cycles_per_cell(side: int, machine: str) -> float:
    """Return the cycles per iteration of a stencil with one cell per element, the mean of some."""
    profile = MACHINES[machine]
    few, many = (
        Machine(cell_stencil(side, side, n, pairs=machine == "wse2"), load_profile(profile)).run()
        for n in CELL_ITERATIONS
    )
    return (many.cycles - few.cycles) / (CELL_ITERATIONS[1] - CELL_ITERATIONS[0])


def cell_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the recorded rows with one cell per element as a table, beside ours."""
    lines = [
        "| grid | machine | simulated | recorded |",
        "|---|---|---:|---:|",
    ]
    for row in rows:
        side = int(row["grid"].split("x")[0])
        for machine, profile in MACHINES.items():
            ours = f"{cycles_per_cell(side, machine):.1f}"
            lines.append(f"| {row['grid']} | {profile} | {ours} | {row[machine]} |")
    return "\n".join(lines)


def rows_of(data: Mapping[str, Any]) -> list[StencilRow]:
    """Return the recorded rows of the reference data, on the machines for which they have one."""
    rows = []
    for row in data["rows"]:
        width, height = (int(side) for side in row["tile"].split("x"))
        tile = Tile(height, width, row["radius"])
        rows += [StencilRow(tile, m, row[m]) for m in MACHINES if row.get(m) is not None]
    return rows


def chosen(rows: Iterable[StencilRow], machine: str, *, nearest: bool) -> list[StencilRow]:
    """Return the rows of a machine with radius 1, or with a greater one."""
    return [r for r in rows if r.machine == machine and (r.tile.radius == 1) == nearest]


def median_error(rows: Iterable[StencilRow]) -> float:
    """Return the median of the errors, without their signs."""
    return median(abs(row.error) for row in rows)


def largest_error(rows: Iterable[StencilRow]) -> float:
    """Return the largest of the errors, without their signs."""
    return max(abs(row.error) for row in rows)


def table(rows: Iterable[StencilRow]) -> str:
    """Return rows as a table, each once, by tile and radius."""
    head = "| tile | radius | form | simulated | recorded | error |\n|---|---:|---|---:|---:|---:|"
    ordered = sorted(set(rows), key=lambda r: (r.tile.radius, r.tile, r.recorded))
    return "\n".join([head, *map(str, ordered)])


def page(data: Mapping[str, Any]) -> str:
    """Return the text of the page with the figures of the reference data's rows."""
    rows, cells = rows_of(data), cell_table(data["one_cell_per_element"])
    template = Template(
        TEMPLATE.read_text(encoding="utf-8"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return str(template.render(rows=rows, cells=cells, **globals()))


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(Path(sys.argv[1]).read_text())), encoding="utf-8")
