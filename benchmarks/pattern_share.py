"""Share of the candidates of the shipped studies whose cycles follow from a small grid.

    python benchmarks/pattern_share.py [--only STUDY …]

Writes the section of docs/validation/engine-speed.md on them in place; rows that are not asked for
keep their figures (pattern-share.json). The studies' own grids are below the size from which on the
pattern is tried, so each row is one of its workloads on a grid of 16,384 elements.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.check.resources import check_resources
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.plan import Plan, program_of
from tilewright.simulator.quotient.pattern_cycles import pattern_cycles
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.cascade_search import Option
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "validation" / "engine-speed.md"
FIGURES = PAGE.with_name("pattern-share.json")
STUDIES = ROOT / "studies"
TITLE = "## Candidates by their pattern"
HEAD = """
Written by `python benchmarks/pattern_share.py`: the Einsums of the shipped studies on 128 x 128
elements, with tensors that stay in the elements and without. Of each option the candidates of the
least bounds; "proved": their exact cycles follow from a small grid of the same pattern, from some
of the columns, from one of each kind of bands, or from pieces between which words go east
([theory](../theory/engines.md), §11 and §13 to §15). Wanted are 90 %. `s of a processor`: the
median of all, and of the slowest. Each candidate without a proof counts; the last column has their
number by reason. In those of attention a stream enters in the north, goes on along each row, and
waits there for elements that take their words of another stream first: columns then do not the
same, and all rows of both pieces differ. What has no proof runs on the whole grid, without values.
"""
FAMILIES = 300
"""Of an option, those of the least bounds; many fit no element."""


@dataclass(frozen=True)
class Study:
    """A shipped study with its workload, made larger by variables of its file.

    `options`: of an Einsum, what stays in the elements and where; `candidates`: of each option.
    """

    name: str
    workload: str
    variables: Mapping[str, Any]
    options: int = 4
    candidates: int = 4
    grid: int = 128


ROWS = (
    Study("wafer_matvec", "llama_feed_forward", {"SCALE": 1, "TOKENS": 2}),
    Study("wafer_projections", "llama_projections", {"SCALE": 1, "TOKENS": 8}),
    Study("wafer_attention", "attention_head", {"SCALE": 1}, options=2, candidates=2),
    Study("wafer_stencil", "seven_point_stencil", {"SIZE": 256, "DEPTH": 16, "STEPS": 1}),
)


class Outcome(NamedTuple):
    """What the pattern said of one candidate: why there is no proof, empty for one; seconds."""

    einsum: str
    reason: str
    seconds: float


def options_of(study: Study) -> Iterator[Option]:
    """Yield some options of each Einsum: nothing stays first."""
    arch = load_arch(
        STUDIES / "hardware" / "wafer_grid.yaml",
        variables={"GridX": study.grid, "GridY": study.grid},
    )
    path = STUDIES / "workloads" / f"{study.workload}.yaml"
    workload = load_workload(load_document(path, variables=study.variables))
    for options in cascade_of(arch, workload, GridRequest()).options:
        alone = [option for option in options if not option.reads and not option.writes]
        others = [option for option in options if option.reads or option.writes]
        step = max(1, len(others) // (study.options - 1))
        yield from [*alone, *others[::step]][: study.options]


def plans_of(option: Option) -> Iterator[tuple[Candidates, Plan]]:
    """Yield the plans of an option's candidates in the order of their families' bounds.

    Families with persistent tensors are among them, whatever memory is set aside for these.
    """
    candidates = option.candidates
    for bounded in nsmallest(FAMILIES, option.families, key=attrgetter("bound")):
        for choice in candidates.space.members(bounded.family):
            try:
                plan = candidates.plan(choice)
                check_resources(program_of(plan), candidates.quick.profile)
            except (InfeasibleMapping, ProgramError):
                continue
            yield candidates, plan


def outcomes(study: Study) -> Iterator[Outcome]:
    """Time the candidates of a study by their pattern."""
    for option in options_of(study):
        for candidates, plan in islice(plans_of(option), study.candidates):
            begun = time.process_time()
            proof = pattern_cycles(program_of(plan), candidates.quick.profile)
            reason = "" if proof.cycles is not None else proof.reason
            yield Outcome(plan.read.einsum.name, reason, time.process_time() - begun)


def measured(study: Study) -> dict[str, Any]:
    """Return the figures of a study."""
    looked_at = []
    for outcome in outcomes(study):
        print(outcome, flush=True)
        looked_at.append(outcome)
    missing = Counter(outcome.reason for outcome in looked_at if outcome.reason)
    return {
        "einsums": len({outcome.einsum for outcome in looked_at}),
        "candidates": len(looked_at),
        "proved": sum(not outcome.reason for outcome in looked_at),
        "missing": missing.most_common(),
        "seconds": sorted(outcome.seconds for outcome in looked_at)[len(looked_at) // 2],
        "slowest": max(outcome.seconds for outcome in looked_at),
    }


def lines(figures: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the section."""
    yield f"{TITLE}\n{HEAD}"
    yield "| study | variables | Einsums | candidates | proved | s of a processor | no proof |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for row in ROWS:
        if row.name in figures:
            f = figures[row.name]
            why = "; ".join(f"{n} x {reason}" for reason, n in f["missing"])
            variables = ", ".join(f"{name} {value}" for name, value in row.variables.items())
            share = f["proved"] / f["candidates"]
            yield (
                f"| {row.name} | {variables} | {f['einsums']} | {f['candidates']} "
                f"| {f['proved']} ({share:.0%}) | {f['seconds']:.2f}, {f['slowest']:.2f} | {why} |"
            )
    yield ""


def section() -> str:
    """Return the section from the stored figures."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    return "\n".join(lines(figures))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of studies; none: all")
    only = parser.parse_args().only
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for study in ROWS:
        if only is None or study.name in only:
            figures[study.name] = measured(study)
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    old = re.compile(rf"{TITLE}\n.*?(?=\n## |\Z)", re.DOTALL)
    if not old.search(page):
        page = page.replace("\n## First run", f"\n{TITLE}\n\n## First run")
    PAGE.write_text(old.sub(lambda _: section(), page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
