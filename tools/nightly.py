"""Run a part of the slow checks and write its row of docs/validation/nightly.md.

`make nightly` lists the parts, `make nightly PART=3` runs one, `make nightly PART=all` all in turn,
some two hours on two cores. Of a family with many cases a part runs one share, another every day;
`make nightly PART=2 SHARE=5` runs the fifth, `SHARE=all` all in turn.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "validation" / "nightly.md"
HEAD = """\
# Nightly parts

The slow checks in parts that each end within a quarter of an hour or so on two cores:
`make nightly PART=3` runs one and writes its row (`tools/nightly.py`). Of a family with many random
cases a part runs one share, another every day (`make nightly PART=2 SHARE=5`: the fifth); all
shares together take some ten hours of one core. A share that was run has a row, with its last run.
Minutes are those of the clock, CPU minutes those of all processes.

| part | what | share | tests | minutes | CPU minutes | date | commit | result |
|---:|---|---|---|---:|---:|---|---|---|
"""


@dataclass(frozen=True)
class Part:
    """The nightly tests of some files or folders; of `shares` shares, one every day.

    Without paths: the tests that ask stored oracles, whose answers are computed again.
    """

    what: str
    paths: tuple[str, ...] = ()
    shares: int = 1

    def __str__(self) -> str:
        return self.what

    @property
    def share(self) -> str:
        """The share of today: `3/8` is the third of eight."""
        return f"{datetime.now(UTC).toordinal() % self.shares + 1}/{self.shares}"

    def command(self, share: str) -> list[str]:
        """Return the command that runs a share."""
        if not self.paths:
            return [sys.executable, "-m", "pytest", "--recompute-oracles"]
        paths = (f"tests/{path}" for path in self.paths)
        chosen = f"--share={share}"
        return [sys.executable, "-m", "pytest", "-n", "auto", "-m", "nightly", chosen, *paths]


PARTS: list[Part] = [
    Part("stored answers of oracles, computed again"),
    Part(
        "hostile files and programs, properties, tutorials",
        (
            "arch",
            "conformance",
            "faults/test_hostile_builder.py",
            "faults/test_hostile_profiles.py",
            "faults/test_hostile_workloads.py",
            "faults/test_hostile_yaml.py",
            "faults/test_hostile_yaml_templates.py",
            "faults/test_interrupt.py",
            "faults/test_kill.py",
            "mapper",
            "properties",
            "simulator",
            "test_example_pages.py",
            "test_explore.py",
            "test_tutorials.py",
        ),
        8,
    ),
    Part(
        "engines, parts of programs, a full wafer, prefill of GPT-3",
        (
            "agreement/test_engines_agree.py",
            "agreement/test_parts_agree.py",
            "agreement/test_band_cycles.py",
            "agreement/test_column_cycles.py",
            "agreement/test_pattern_cycles.py",
            "agreement/test_piece_cycles.py",
            "agreement/test_gemv_example.py",
            "agreement/test_fused_optima.py",
        ),
    ),
    Part(
        "mappings of grids, executed",
        (
            "agreement/test_bounds_behind_last_tiles.py",
            "agreement/test_few_colors.py",
            "agreement/test_filled_padding.py",
            "agreement/test_slow_borders.py",
            "agreement/test_grid_executed.py",
            "agreement/test_grid_values.py",
            "agreement/test_instances_on_grids.py",
            "agreement/test_integer_sums.py",
            "agreement/test_long_tiles.py",
            "agreement/test_loop_orders.py",
            "agreement/test_narrowed_sums.py",
            "agreement/test_nested_loops.py",
            "agreement/test_paired_values.py",
            "agreement/test_upper_bounds.py",
            "agreement/test_pipelines.py",
            "agreement/test_predictions.py",
            "agreement/test_repeated_reads_on_grids.py",
            "agreement/test_reduction_schemes.py",
            "agreement/test_rules_on_grids.py",
            "agreement/test_stored_sums.py",
            "agreement/test_wafer_rates.py",
            "agreement/test_shifted_mappings.py",
            "agreement/test_shifted_columns.py",
            "agreement/test_transposed_programs.py",
        ),
    ),
    Part("one Einsum by brute force", ("agreement/test_search_brute_force.py",), 8),
    Part("one Einsum by the walk", ("agreement/test_search_walked.py",), 2),
    Part(
        "uneven tiles",
        (
            "agreement/test_uneven_averages.py",
            "agreement/test_uneven_brute_force.py",
            "agreement/test_uneven_networks.py",
            "agreement/test_fronts_uneven.py",
        ),
        6,
    ),
    Part("fronts of one Einsum", ("agreement/test_fronts_enumerated.py",), 8),
    Part(
        "copies, deferred costs, lanes above, explanations",
        (
            "agreement/test_copies_enumerated.py",
            "agreement/test_repeating_copies.py",
            "agreement/test_deferred_costs.py",
            "agreement/test_lanes_above.py",
            "agreement/test_explained_by_listing.py",
            "agreement/test_explained_alone.py",
            "agreement/test_fused_as_unfused.py",
            "agreement/test_idle_memories.py",
        ),
        4,
    ),
    Part("fused optima", ("agreement/test_fused_brute_force.py",), 16),
    Part(
        "fused optima with sizes, widths and networks",
        (
            "agreement/test_memory_sizes.py",
            "agreement/test_shared_programs.py",
            "agreement/test_shared_tiles.py",
            "agreement/test_fused_networks.py",
        ),
        8,
    ),
    Part("fused optima by the walk", ("agreement/test_fused_walked.py",), 4),
    Part("fused fronts", ("agreement/test_fronts_fused.py",), 2),
    Part("usage of fused mappings", ("agreement/test_fused_usage.py",), 12),
    Part("random mappings executed on numbers", ("agreement/test_mutated_mappings.py",)),
    Part("studies: runs and Dask workers killed, mirrors, reports", ("dse", "faults/reliability")),
]


def run(number: int, share: str = "") -> int:
    """Run a share of a part (none named: that of today), write its row; return pytest's code."""
    part = PARTS[number - 1]
    share = share or part.share  # of the day on which it begins
    command = part.command(share)
    print(f"nightly part {number}: {part}, share {share}", flush=True)
    began, before = time.monotonic(), sum(os.times()[2:4])
    done = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.stdout is not None
    last = ""
    for line in done.stdout:
        print(line, end="", flush=True)
        last = line.strip() or last
    code = done.wait()
    minutes = (time.monotonic() - began) / 60
    busy = (sum(os.times()[2:4]) - before) / 60
    counts = re.sub(r"(, \d+ deselected)?(, \d+ warnings?)? in .*", "", last)
    result = "passed" if code == 0 else "failed"
    row = f"{counts} | {minutes:.1f} | {busy:.1f} | {time.strftime('%Y-%m-%d')} | {commit()}"
    write(number, f"| {number} | {part} | {share} | {row} | {result} |")
    return code


def commit() -> str:
    """Return the commit that was tested, marked where other files than the page differ from it."""
    head = ["git", "rev-parse", "--short", "HEAD"]
    changes = ["git", "status", "--porcelain", "--", ".", f":!{PAGE.relative_to(ROOT)}"]
    name, changed = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for command in (head, changes)
    )
    return name + ("-dirty" if changed else "")


def write(number: int, row: str) -> None:
    """Put a row into the page, in the place of that of its share; a part never run has a row, too.

    The rows of another division of its part into shares go.
    """
    rows: dict[int, dict[str, str]] = {n: {} for n in range(1, len(PARTS) + 1)}
    if PAGE.exists():
        for line in PAGE.read_text(encoding="utf-8").splitlines():
            known = re.match(r"\| (\d+) \| ([^|]*) \| (\d+/\d+) \|", line)
            if known and int(known[1]) in rows and str(PARTS[int(known[1]) - 1]) == known[2]:
                rows[int(known[1])][known[3]] = line
    share = row.split(" | ")[2]
    shares = share.partition("/")[2]
    rows[number] = {s: line for s, line in rows[number].items() if s.endswith(f"/{shares}")}
    rows[number][share] = row
    lines = [
        line
        for n, part in enumerate(PARTS, 1)
        for line in _in_order(rows[n]) or [f"| {n} | {part} | | | | | | | not run |"]
    ]
    PAGE.write_text(HEAD + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def _in_order(rows: dict[str, str]) -> list[str]:
    return [rows[share] for share in sorted(rows, key=lambda share: int(share.partition("/")[0]))]


def main(part: str = "", share: str = "") -> int:
    if not part:
        for number, each in enumerate(PARTS, 1):
            print(f"{number:3}  {each}, shares: {each.shares}")
        return 0
    if part == "all":
        return max(run(number) for number in range(1, len(PARTS) + 1))
    shares = PARTS[int(part) - 1].shares
    chosen = range(1, shares + 1) if share == "all" else [share] if share else []
    return max(run(int(part), f"{n}/{shares}") for n in chosen) if chosen else run(int(part))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
