"""Fit and show the reshard model: python benchmarks/reshard_time.py [--write].

The two constants are fitted on every other row of the measured reshards (those at even places), by
the least sum of absolute logarithms; the others are held out. --write writes the page
docs/validation/reshard-time.md.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from itertools import product
from math import log
from pathlib import Path
from statistics import median
from typing import Any

from error_dots import error_dots
from recorded_layouts import recorded_layouts

from tilewright.mapper.layout.costs.reshard_time import RoutedRead, read_time, reshard_time
from tilewright.mapper.layout.machines.layout_machine import load_machine

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("TILEWRIGHT_SHARED_DATA", ROOT.parent / "shared" / "data"))
PAGE = ROOT / "docs" / "validation" / "reshard-time.md"
PICTURE = PAGE.with_suffix(".svg")


@dataclass(frozen=True)
class Row:
    """A measured reshard: cycles, the bound of resources, reads of the busiest unit."""

    name: str
    cycles: int
    bound: float
    limit: str
    reads: float

    def predicted(self, start: float, issue: float) -> float:
        return start + max(self.bound, issue * self.reads)


def recorded() -> list[dict[str, Any]]:
    text = (DATA / "layouts" / "tt_npe_reshard_golden.json").read_text(encoding="utf-8")
    workloads: list[dict[str, Any]] = json.loads(text)["workloads"]
    return workloads


def from_layouts() -> list[float]:
    """Errors of the cycles predicted from two layouts, of the rows that have them."""
    machine = load_machine("wormhole")
    return [
        reshard_time(*pair, machine).cycles / row["golden_cycles"] - 1
        for row in recorded()
        if (pair := recorded_layouts(row, machine)) is not None
    ]


def rows() -> list[Row]:
    machine = load_machine("wormhole")
    result = []
    for row in recorded():
        reads = [
            RoutedRead((x, y), (to_x, to_y), int(network == "NOC_1"), size * count, count)
            for x, y, to_x, to_y, size, count, network, _ in row["transfers"]
        ]
        time = read_time(reads, machine, [r.source for r in reads if r.source[0] in (0, 5)])
        resources = dict(time.resources)
        issue = resources.pop("issue") / machine.rates["reshard_issue_cycles"]
        result.append(
            Row(row["name"], row["golden_cycles"], max(resources.values()), time.limit, issue)
        )
    return result


def fitted(chosen: list[Row]) -> tuple[int, int]:
    def loss(constants: tuple[int, int]) -> float:
        return sum(abs(log(row.predicted(*constants) / row.cycles)) for row in chosen)

    return min(product(range(0, 1200, 10), range(0, 300, 5)), key=loss)


def errors(chosen: list[Row], constants: tuple[int, int]) -> list[float]:
    return [row.predicted(*constants) / row.cycles - 1 for row in chosen]


def page() -> str:
    every = rows()
    start, issue = constants = fitted(every[::2])
    within = sum(abs(e) <= 0.15 for e in errors(every, constants))
    shares = {
        "fitted rows": errors(every[::2], constants),
        "held-out rows": errors(every[1::2], constants),
        "all rows": errors(every, constants),
        "all rows, both constants 0": errors(every, (0, 0)),
    }
    medians = [
        f"| {name} | {100 * median(map(abs, values)):.1f} % | {100 * max(map(abs, values)):.0f} % |"
        for name, values in shares.items()
    ]
    lines = [TEXT.format(count=len(every), start=start, issue=issue)]
    lines += ["| rows | median absolute error | greatest |", "|---|---|---|", *medians, ""]
    lines += [WRONG.format(within=within, count=len(every))]
    alone = list(map(abs, from_layouts()))
    lines += [
        ALONE.format(
            matched=len(alone),
            count=len(every),
            median=100 * median(alone),
            within=sum(error <= 0.15 for error in alone),
        )
    ]
    lines += [
        "| reshard | measured | predicted | error | limit | set |",
        "|---|---|---|---|---|---|",
    ]
    lines += [shown(row, constants, number) for number, row in enumerate(every)]
    return "\n".join(lines) + "\n"


def shown(row: Row, constants: tuple[int, int], number: int) -> str:
    predicted = row.predicted(*constants)
    error = 100 * (predicted / row.cycles - 1)
    kind = "held out" if number % 2 else "fitted"
    cells = (row.name, row.cycles, f"{predicted:.0f}", f"{error:+.1f} %", row.limit, kind)
    return f"| {' | '.join(map(str, cells))} |"


TEXT = """# Validation: time of a reshard

Cycles of {count} reshards measured on Wormhole (tt-npe, Apache-2.0, commit 2b4ffc9, golden results
of NoC traces) beside the model of [theory/layouts.md](../theory/layouts.md) §12. The model reads
sources, destinations, sizes and networks of the reads, not the recorded issue times. Two constants
are fitted on every other row; the rest is held out. `python benchmarks/reshard_time.py --write`
writes this page and its picture anew.

Start: {start} cycles. Issue: {issue} cycles per read of one unit on one network. Both stand in
`mapper/layout/machines/wormhole.yaml`.

![Distribution of the errors](reshard-time.svg)
"""
WRONG = """{within} of {count} rows are within 15 %; the others are predicted too short. They turn
blocks into rows of cores, or read from DRAM to 16 units or more. A cause may be that their units
ask the same sources in the same order and wait for each other; a bound by the busiest resource does
not see that.
"""
ALONE = """From layouts alone: {matched} of {count} rows have a tensor whose `transfers` between the
two layouts of the row's name carry the recorded bytes from every source to every destination. The
cycles predicted from these layouts, without any recorded read, have a median error of
{median:.1f} %; {within} are within 15 %. Where several tensors have the same transfers, the first
is taken.
"""


if __name__ == "__main__":
    text = page()
    if "--write" in sys.argv:
        machine = load_machine("wormhole")
        stored = (machine.rates["reshard_start_cycles"], machine.rates["reshard_issue_cycles"])
        assert fitted(rows()[::2]) == stored, "wormhole.yaml has other constants"
        PAGE.write_text(text, encoding="utf-8")
        every = rows()
        PICTURE.write_text(error_dots(errors(every, fitted(every[::2]))), encoding="utf-8")
    else:
        print(text)
