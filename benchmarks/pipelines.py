"""Compute docs/validation/pipelines.md: Einsums of cascades as one program, and one by one.

Run `python benchmarks/pipelines.py` to write the page anew; a test compares rows of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "oracles"))

from cascades import CASCADES, cascade_arch, cascade_workload  # noqa: E402
from pipeline_cases import EXAMPLES, example, page_row, random_pipeline  # noqa: E402

from tilewright.arch.spec.architecture import Arch  # noqa: E402
from tilewright.mapper.mapping.mapping import Mapping, Sequential  # noqa: E402
from tilewright.mapper.mapping.mapping_file import dump_mapping  # noqa: E402
from tilewright.mapper.workload.errors import InfeasibleMapping  # noqa: E402
from tilewright.mapper.workload.workload import Workload  # noqa: E402
from tilewright.simulator.execution.einsum_execution import ExecutionSettings  # noqa: E402
from tilewright.simulator.execution.execution import execute  # noqa: E402
from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest, map_on_grid  # noqa: E402

PAGE = ROOT / "docs" / "validation" / "pipelines.md"
MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim")
TURNS = (1, 2, 4, 8)
DRAWN = 300
MOST_EXECUTIONS = 60


def drawn_line() -> str:
    """Return what random pipelines take, beside the same loops Einsum after Einsum."""
    shares, bounds = [], []
    for seed in range(DRAWN):
        case, settings = random_pipeline(seed), ExecutionSettings(machine=MACHINES[seed % 2])
        run, sequence = (
            execute(case.arch, case.workload, mapping, settings=settings)
            for mapping in (case.mapping, case.in_sequence())
        )
        shares.append(run.cycles / sequence.cycles)
        bounds.append(run.lower_bound_cycles / run.cycles)
    return DRAWN_TEXT.format(
        number=DRAWN, least=min(shares), median=median(shares), most=max(shares),
        bound=min(bounds), middle=median(bounds), above=sum(bound > 1 for bound in bounds),
    )  # fmt: skip


def joined_rows() -> Iterator[str]:
    """Yield rows: the best mapping that a search finds, and the same with pipelines in it."""
    cases: list[tuple[str, Workload, Arch]] = [
        (name, cascade_workload(name, 16, 16, 16), cascade_arch(2, 2)) for name in CASCADES
    ]
    cases += [(name, example(name, 1).workload, cascade_arch(4, 4)) for name in EXAMPLES]
    for name, workload, arch in cases:
        found = map_on_grid(arch, workload, GridRequest(most_executions=MOST_EXECUTIONS))
        best, groups = joined(found, arch, workload)
        names = [einsum.name for einsum in workload.einsums]
        shown = ", ".join("+".join(names[n] for n in group) for group in groups)
        yield f"| {name} | {found.execution.cycles:,} | {best:,} | {shown} |"


def joined(found: GridMapping, arch: Arch, workload: Workload) -> tuple[int, list[list[int]]]:
    """Return the cycles with each Einsum in a pipeline with those before it where that is faster.

    And the groups of Einsums, by their numbers.
    """
    last = found.mapping.nodes[-1]
    assert isinstance(last, Sequential)
    best, groups = found.execution.cycles, [[0]]
    for number in range(1, len(last.branches)):
        tried = [*groups[:-1], [*groups[-1], number]]
        rest = [[n] for n in range(number + 1, len(last.branches))]
        branches = tuple(
            last.branches[group[0]]
            if len(group) == 1
            else (Sequential(tuple(last.branches[n] for n in group), "Pipeline"),)
            for group in (*tried, *rest)
        )
        nodes = branches[0] if len(branches) == 1 else (Sequential(branches),)
        try:
            cycles = execute(arch, workload, Mapping((*found.mapping.nodes[:-1], *nodes))).cycles
        except InfeasibleMapping:
            cycles = best
        groups = tried if cycles < best else [*groups, [number]]
        best = min(best, cycles)
    return best, groups


def page() -> str:
    rows = [page_row(name, turns) for name in EXAMPLES for turns in TURNS]
    case = example("two layers", 4)
    return TEXT.format(
        rows="\n".join(rows),
        most=MOST_EXECUTIONS,
        drawn=drawn_line(),
        joined="\n".join(joined_rows()),
        mapping=dump_mapping(case.mapping).rstrip(),
    )


DRAWN_TEXT = """\
{number} random pipelines of six cascades on up to 4 × 3 elements, half of them on each of two
machines, take {least:.0%} to {most:.0%} of the cycles of the same loops Einsum after Einsum,
{median:.0%} at the median. Their bound is {bound:.0%} of the cycles at the least, {middle:.0%} at
the median, and above them {above} times."""
TEXT = """\
# Pipelines

Written by `python benchmarks/pipelines.py`; do not edit. A `Pipeline` of a mapping is one program
of its Einsums ([grid.md](../theory/grid.md) §13). Every run compares its results with numpy and its
counts with the model's.

## Two layers, and attention

On 8 × 8 elements, 64 rows, the 8 rows of an element in some turns: cycles on wse2-sdk-sim as a
pipeline and Einsum after Einsum with the same loops, the pipeline's lower bound, and the bytes of
an element's memory that hold what passes from Einsum to Einsum.

| cascade | turns | pipeline | one after the other | bound | bytes | whole |
|---|---:|---:|---:|---:|---:|---:|
{rows}

One turn is faster here than a barrier. More turns need less memory, and start their operations anew
in each: for attention, whose operations are short, they take more cycles than they save. An element
waits in its turn for the sums that it needs in this turn; it does not begin the next one before.

The mapping of two layers in four turns, `H = A B`, `G = relu(H)`, `Z = G C`; `tilewright execute`
runs it:

```yaml
{mapping}
```

## Drawn ones

{drawn}

## The best mappings, joined

What `tilewright map` finds (at most {most} candidates for each Einsum), with each Einsum put into a
pipeline with those before it where that is allowed and faster. So a search does not look for
pipelines: nearly all of the cycles are work of elements, which a pipeline has, too.

| cascade | found | joined | programs |
|---|---:|---:|---|
{joined}
"""

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
