"""Compute docs/validation/executed-grids.md: Einsums of many forms on grids, bounds beside cycles.

Run `python benchmarks/grid_executed.py [MAPPINGS]` to write the page anew; MAPPINGS random mappings
(default 6,300) are executed for the part on bounds, by two worker processes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import median

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import spearmanr

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "oracles"))

from grid_mappings import (  # noqa: E402
    FORMS,
    HARDWARE,
    einsum_workload,
    grid_arch,
    random_space_time,
    typed_workload,
)
from reshards import along_a_line, checked_run, drawn_reshard  # noqa: E402

from tilewright.arch.spec.load import load_arch  # noqa: E402
from tilewright.mapper.grid.exchanges.flow_phases import flow_phases  # noqa: E402
from tilewright.mapper.grid.exchanges.reshard import reshard  # noqa: E402
from tilewright.mapper.grid.grid import grid_of  # noqa: E402
from tilewright.mapper.grid.grid_mapspace import GridMapspace  # noqa: E402
from tilewright.mapper.grid.reading.mapping_reading import space_time  # noqa: E402
from tilewright.mapper.workload.errors import InfeasibleMapping  # noqa: E402
from tilewright.simulator.exchanges.reshard_program import limits_of  # noqa: E402
from tilewright.simulator.execution.einsum_execution import (  # noqa: E402
    EinsumExecution,
    ExecutionSettings,
    execute_einsum,
)
from tilewright.simulator.execution.mapped_workload import grid_path  # noqa: E402
from tilewright.simulator.profiles.profile import load_profile  # noqa: E402

RANDOM_RESHARDS = 500
PAGE = ROOT / "docs" / "validation" / "executed-grids.md"
GRIDS = ((1, 1), (4, 1), (1, 3), (2, 2), (3, 4), (4, 2))
MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim")
HEAD = """\
# Einsums executed on grids

Written by `python benchmarks/grid_executed.py`; do not edit. Every execution compares its result
with numpy and its counts with the model's, and is an error where they differ.

## Forms

The first mapping of the mapspace that fits the elements, for each form on grids of columns × rows:
cycles on wse2-sdk-sim, and the lower bound as a share of them. {refused}

"""
TYPES_HEAD = """
## Number types

The first mapping that runs on 2 × 2 elements, in cycles; from f16 to f32, inputs have 16 bits and
sums 32. A dash: {why}.

"""
RESHARDS = """
## Reshards

A tensor of f32 that stays in the elements is sent to where the next Einsum needs it
(theory/grid.md §10). From shares of rows to shares of columns all elements of a line send to all
others; in a gather each sends its share to all. Cycles on wse2-sdk-sim with the bound as a share
of them, and the programs that colors and queues need.

| elements | values | transpose | programs | gather | programs |
|---:|---:|---:|---:|---:|---:|
{lines}

{number} random reshards on up to 4 × 4 elements, of up to three ranks, f32 and f16, half of them on
each of {machines}: values and counts are right; none has a bound above its
cycles. The bound is {least:.1%} of the cycles at the least, {median:.1%} at the median.
"""
BOUNDS = """
## Bounds

{executed:,} random mappings of these forms on 4 × 4 elements, f32 and f16, half of them on each of
{machines}, were executed; {refused:,} more are not in the mapspace or need more than
an element has. Of those executed, {above} have a bound above their cycles.

| | bound / cycles |
|---|---:|
{quantiles}

Rank correlation (Spearman) of bound and cycles over all of them: {rank:.3f}. Between mappings of
one form, which is what a search compares, it is {inner:.3f} at the median of the forms, {least:.3f}
at the least.
"""


@dataclass(frozen=True)
class Outcome:
    """A random mapping's form, cycles and bound; `cycles` is 0 if it is not on the grid."""

    form: str
    cycles: int = 0
    bound: int = 0


def outcome(seed: int) -> Outcome:
    try:
        form, read = random_space_time(seed)
        run = execute_einsum(read, ExecutionSettings(machine=MACHINES[seed % 2]))
    except InfeasibleMapping:
        return Outcome("")
    return Outcome(form, run.cycles, run.lower_bound_cycles)


def first_that_fits(form: str, columns: int, rows: int, refused: Counter[str]) -> EinsumExecution:
    """Execute the first mapping of a mapspace that fits; count why those before it do not."""
    flat, einsum = grid_arch(form, 32, columns, rows), einsum_workload(form).einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    for family in space.families():
        mapping = space.mapping_of(space.members(family)[-1])
        try:
            return execute_einsum(space_time(flat, einsum, mapping))
        except InfeasibleMapping as error:
            refused[error.what] += 1
    raise InfeasibleMapping(f"no mapping of {form} fits {columns} × {rows} elements")


def forms_table(refused: Counter[str]) -> Iterator[str]:
    names = " | ".join(f"{columns} × {rows}" for columns, rows in GRIDS)
    yield f"| form | Einsum | {names} |"
    yield "|---|---|" + "---:|" * len(GRIDS)
    for form, text in FORMS.items():
        cells = []
        for columns, rows in GRIDS:
            run = first_that_fits(form, columns, rows, refused)
            share = run.lower_bound_cycles / run.cycles
            cells.append(f"{run.cycles} ({share:.0%})")
        yield f"| {form} | `{text}` | {' | '.join(cells)} |"


TYPES = (("f32", "f32"), ("f16", "f16"), ("f16", "f32"), ("i32", "i32"), ("i16", "i16"))
ARCH = load_arch(HARDWARE).with_values({"variables.GridX": 2, "variables.GridY": 2})


def typed_cycles(form: str, types: tuple[str, str], refused: Counter[str]) -> str:
    """Return the cycles of the first mapping that runs, or a dash if none does."""
    workload = typed_workload(form, *types)
    einsum = workload.einsums[0]
    flat = grid_path(ARCH, workload, einsum)
    space = GridMapspace(grid_of(flat), einsum)
    reasons = Counter[str]()
    for family in space.families():
        mapping = space.mapping_of(space.members(family)[-1])
        try:
            return f"{execute_einsum(space_time(flat, einsum, mapping)).cycles}"
        except InfeasibleMapping as error:
            reasons[error.what.replace(f"for {einsum.name}", "for its formula")] += 1
    refused[reasons.most_common(1)[0][0]] += 1
    return "–"


def types_part() -> str:
    names = " | ".join(a if a == b else f"{a} to {b}" for a, b in TYPES)
    lines = [f"| form | {names} |", "|---|" + "---:|" * len(TYPES)]
    refused = Counter[str]()
    for form in FORMS:
        cells = [typed_cycles(form, types, refused) for types in TYPES]
        lines.append(f"| {form} | {' | '.join(cells)} |")
    why = "; ".join(f"{reason} ({number})" for reason, number in sorted(refused.items()))
    return TYPES_HEAD.format(why=why) + "\n".join(lines) + "\n"


def line_cells(elements: int, size: int, needed: int | None) -> str:
    """Return cycles with the bound's share, and the programs, of a reshard along a line."""
    case = reshard("T", along_a_line(elements, 0, size), along_a_line(elements, needed, size))
    assert case is not None
    phases = flow_phases(case, limits_of(load_profile(MACHINES[0])))
    run = checked_run(case, np.random.default_rng(0), MACHINES[0], "f32")
    return f"{run.cycles} ({run.bounds[0] / run.cycles:.0%}) | {len(phases or ())}"


def reshards_part(number: int) -> str:
    lines = "\n".join(
        f"| {elements} | {size} × {size} | {line_cells(elements, size, 1)} | "
        f"{line_cells(elements, size, None)} |"
        for elements, size in ((2, 8), (4, 8), (4, 16), (8, 16), (16, 16), (16, 32))
    )
    shares = []
    for seed in range(30_000, 30_000 + number):
        run = checked_run(*drawn_reshard(seed), MACHINES[seed % 2], ("f32", "f16")[seed // 2 % 2])
        assert run.bounds[0] <= run.cycles, seed
        if run.cycles:
            shares.append(run.bounds[0] / run.cycles)
    return RESHARDS.format(
        lines=lines,
        number=number,
        machines=" and ".join(MACHINES),
        least=min(shares),
        median=median(shares),
    )


def bounds_part(mappings: int) -> str:
    seeds = range(20_000, 20_000 + mappings)
    outcomes = Parallel(n_jobs=2)(delayed(outcome)(seed) for seed in seeds)
    runs = [each for each in outcomes if each.cycles]
    shares = sorted(each.bound / each.cycles for each in runs)
    by_form: dict[str, list[Outcome]] = {}
    for each in runs:
        by_form.setdefault(each.form, []).append(each)
    inner = [_rank(each) for each in by_form.values() if len({run.cycles for run in each}) > 5]
    rows = {"least": 0.0, "a tenth below": 0.1, "median": 0.5, "greatest": 1.0}
    return BOUNDS.format(
        executed=len(runs),
        refused=len(outcomes) - len(runs),
        machines=" and ".join(MACHINES),
        above=sum(each.bound > each.cycles for each in runs) or "none",
        quantiles="\n".join(
            f"| {name} | {shares[int(part * (len(shares) - 1))]:.1%} |"
            for name, part in rows.items()
        ),
        rank=_rank(runs),
        inner=median(inner or [nan]),
        least=min(inner, default=nan),
    )


def _rank(runs: list[Outcome]) -> float:
    return float(spearmanr([run.bound for run in runs], [run.cycles for run in runs]).statistic)


def main(mappings: int = 6300) -> None:
    refused = Counter[str]()
    table = list(forms_table(refused))
    reasons = "; ".join(f"{reason} ({number})" for reason, number in refused.most_common())
    why = f"Mappings before it that an element cannot hold: {reasons}." if reasons else ""
    text = HEAD.format(refused=why) + "\n".join(table) + "\n"
    text += types_part() + reshards_part(RANDOM_RESHARDS) + bounds_part(mappings)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*(int(number) for number in sys.argv[1:]))
