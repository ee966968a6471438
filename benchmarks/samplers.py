"""Compare the samplers on three shipped studies; write the page of it.

    python benchmarks/samplers.py [--seeds 10] [--only gp tpe] [--again] [--cache FILE] [--write]

Each sampler searches each study with each seed. Which designs a search evaluated, and what they
reached, is kept in docs/validation/samplers.jsonl after each search, so that the command can be
stopped and run again: searches that are there are not repeated (but with --again), and --only adds
or repeats those of some samplers. A design is evaluated once and its outcome kept in the cache, a
JSON file for each study. `gp` needs torch; without it, and where not all its seeds have run, it has
no row.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from tilewright.dse.command.shipped import find_study
from tilewright.dse.models.evaluator import Outcome, attempt
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.run.figures import names_of
from tilewright.dse.run.pareto import hypervolume, oriented
from tilewright.dse.run.record import Objective
from tilewright.dse.run.study_loop import PATIENCE
from tilewright.dse.sampling.samplers import make_sampler
from tilewright.dse.study.design_space import Choice, canonical_json
from tilewright.dse.study.sampler import Result, SamplerSettings
from tilewright.dse.study.study import StudySpec
from tilewright.dse.study.study_loading import load_study

STUDIES = {"tpu_v4i_gpt3": 60, "tenstorrent_matmul": 48, "trainium_matmul": 100}
"""Different designs that can be built, of which a search of each study may evaluate so many."""
SAMPLERS = (
    "random", "qmc", "grid", "tpe", "nsga2", "nsga3", "bottleneck", "cmaes",
    "optuna.samplers.QMCSampler", "gp",
)  # fmt: skip
PAGE_FILE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "samplers.md"
SEARCHES = PAGE_FILE.with_suffix(".jsonl")
ONE_OBJECTIVE = ("cmaes",)
SMALL_BATCH = 10
MARKS = (0.25, 0.5, 1.0)  # of the evaluations
SIGNIFICANT = 0.05


class Table:
    """A study whose designs are evaluated once.

    `spec`: the study; `outcomes`: those known, by the text of the value indices.
    """

    def __init__(self, name: str, cache: Path) -> None:
        self.spec: StudySpec = load_study(find_study(name))
        self._cache = cache.with_name(f"{cache.stem}-{name}.jsonl")
        self._evaluator = make_evaluator(self.spec)
        self._outcomes: dict[str, Outcome] = {}
        if self._cache.exists():
            for line in self._cache.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                key = record.pop("choice")
                self._outcomes[key] = Outcome(**record)

    def outcome(self, choice: Choice) -> Outcome:
        """Return the outcome of a design, from the cache if it is there."""
        key = canonical_json(list(choice))
        if key not in self._outcomes:
            outcome = attempt(self._evaluator, self.spec.space.point(choice)).outcome
            self._outcomes[key] = replace(outcome, details={})
            with self._cache.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"choice": key, **asdict(self._outcomes[key])}) + "\n")
        return self._outcomes[key]

    def result(self, choice: Choice) -> Result:
        """Return what a sampler is told of a design."""
        outcome = self.outcome(choice)
        if outcome.status != "feasible":
            return Result(None, {}, {}, choice)
        names = names_of(outcome.metrics, None)
        excess = {limit.text: limit.excess(names) for limit in self.spec.constraints}
        values = tuple(outcome.metrics[each.metric] for each in self.spec.objectives)
        return Result(values, excess, outcome.breakdown, choice)


def searched(table: Table, sampler: str, seed: int, evaluations: int) -> list[Result]:
    """Return the results of the different designs that a search evaluates, in order.

    Those that cannot be built are left out: as in a study, they use up no evaluation, but a search
    ends when it has tried twice as many.
    """
    spec = table.spec
    alone = sampler in ONE_OBJECTIVE
    objectives = (Objective("product"),) if alone else spec.objectives
    start = tuple(spec.space.choice(baseline.point) for baseline in spec.baselines)
    population = max(4, min(20, evaluations // 5))
    search = make_sampler(SamplerSettings(sampler, seed, objectives, start, population), spec.space)
    seen: dict[Choice, Result] = {}
    fresh = told = built = 0
    for batch in count():
        size = min(SMALL_BATCH, evaluations - built, 2 * evaluations - len(seen))
        results = [table.result(p.choice) for p in search.propose(batch, told, size)]
        told += size
        fresh = batch if any(result.choice not in seen for result in results) else fresh
        seen.update((result.choice, result) for result in results if result.choice not in seen)
        search.tell([_as_one(result) if alone else result for result in results])
        built = sum(result.values is not None for result in seen.values())
        whole = built >= evaluations or len(seen) >= min(2 * evaluations, spec.space.size)
        if whole or batch - fresh >= PATIENCE:
            return [result for result in seen.values() if result.values is not None]
    raise AssertionError("unreachable")


def _as_one(result: Result) -> Result:
    values = result.values
    product = None if values is None else (float(np.prod(np.log1p(np.abs(values)))),)
    return replace(result, values=product)


class Runs:
    """The searches of a study that were made: which designs each evaluated, and what these reached.

    `designs`: by the text of the value indices, the objectives of a design, None of one that breaks
    a limit. `searches`: by sampler and seed, the designs in order, by number.
    """

    def __init__(self) -> None:
        self.designs: dict[str, list[float] | None] = {}
        self.searches: dict[str, dict[int, list[int]]] = {}

    def add(self, sampler: str, seed: int, results: Sequence[Result]) -> None:
        """Keep a search."""
        keys = [canonical_json(list(result.choice)) for result in results]
        for key, result in zip(keys, results, strict=True):
            is_good = result.values is not None and all(x <= 0 for x in result.excess.values())
            self.designs.setdefault(key, list(result.values or ()) if is_good else None)
        numbers = {key: number for number, key in enumerate(self.designs)}
        self.searches.setdefault(sampler, {})[seed] = [numbers[key] for key in keys]

    def complete(self, seeds: int) -> list[str]:
        """Return the samplers that have searched with all seeds."""
        return [s for s in SAMPLERS if len(self.searches.get(s, ())) >= seeds]


@dataclass(frozen=True, slots=True)
class Curves:
    """Hypervolume (1: the box) of all seeds of one sampler at each mark of the evaluations."""

    sampler: str
    values: Mapping[float, Sequence[float]]


def curves_of(runs: Runs, goals: Sequence[Any], most: int, seeds: int) -> list[Curves]:
    """Return the hypervolumes of all searches in one box: from the best to 1.1 x the worst."""
    designs = list(runs.designs.values())
    costs = oriented([values for values in designs if values is not None], goals)
    ideal, worst = costs.min(axis=0), costs.max(axis=0)
    reference = ideal + 1.1 * (worst - ideal)
    whole = hypervolume(costs, ideal, reference)

    def share(search: Sequence[int]) -> float:
        reached = [designs[number] for number in search]
        found = oriented([values for values in reached if values is not None], goals)
        return hypervolume(found, ideal, reference) / whole

    return [
        Curves(
            sampler,
            {
                mark: [
                    share(runs.searches[sampler][seed][: int(mark * most)]) for seed in range(seeds)
                ]
                for mark in MARKS
            },
        )
        for sampler in runs.complete(seeds)
    ]


def rows_of(curves: Sequence[Curves]) -> list[str]:
    """Return a row per sampler, the best median first; random is what others are compared with."""
    random = next(each for each in curves if each.sampler == "random").values[1.0]
    rows = []
    for each in sorted(curves, key=lambda c: -float(np.median(c.values[1.0]))):
        cells = []
        for mark in MARKS:
            low, middle, high = np.quantile(each.values[mark], (0.25, 0.5, 0.75))
            cells.append(f"{middle:.3f} ({low:.3f} to {high:.3f})")
        verdict = "–" if each.sampler == "random" else _verdict(each.values[1.0], random)
        rows.append(f"| `{each.sampler}` | {' | '.join(cells)} | {verdict} |")
    return rows


def _verdict(values: Sequence[float], others: Sequence[float]) -> str:
    if len(set(values) | set(others)) == 1:
        return "equal"
    p = float(mannwhitneyu(values, others, alternative="two-sided").pvalue)
    better = np.mean(values) > np.mean(others)
    word = ("better" if better else "worse") if p < SIGNIFICANT else "no difference shown"
    return f"{word}, p = {p:.2g}"


def section(spec: StudySpec, evaluations: int, seeds: int, runs: Runs) -> str:
    """Return the section of one study."""
    curves = curves_of(runs, [o.goal for o in spec.objectives], evaluations, seeds)
    space, goals = spec.space.size, ", ".join(o.metric for o in spec.objectives)
    what = f"{space:,} designs; objectives {goals}; {evaluations} designs that can be built"
    heads = " | ".join(f"after {int(mark * evaluations)}" for mark in MARKS)
    missing = [s for s in SAMPLERS if s not in runs.complete(seeds)]
    counts = [f"`{s}` ({len(runs.searches.get(s, ()))} of {seeds})" for s in missing]
    note = f" Not run with all seeds: {', '.join(counts)}." if counts else ""
    return "\n".join(
        [f"## {spec.name}", "",
         f"{what}.{note}", "",
         f"| sampler | {heads} | against random |", "|---|---|---|---|---|", *rows_of(curves), ""]
    )  # fmt: skip


def load_runs() -> dict[str, Runs]:
    """Return the searches of each study that are kept beside the page."""
    kept = {name: Runs() for name in STUDIES}
    if SEARCHES.exists():
        for line in SEARCHES.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            runs = kept[record["study"]]
            if "sampler" in record:
                seeds = runs.searches.setdefault(record["sampler"], {})
                seeds[record["seed"]] = record["designs"]
            else:
                runs.designs[record["design"]] = record["values"]
    return kept


def save_runs(kept: Mapping[str, Runs]) -> None:
    """Keep the searches beside the page: a line for each design and each search of a study."""
    records: list[dict[str, Any]] = []
    for study, runs in kept.items():
        records += [
            {"study": study, "design": key, "values": values}
            for key, values in runs.designs.items()
        ]
        records += [
            {"study": study, "sampler": sampler, "seed": seed, "designs": designs}
            for sampler, seeds in sorted(runs.searches.items())
            for seed, designs in sorted(seeds.items())
        ]
    lines = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    SEARCHES.write_text(lines, encoding="utf-8")


def search_all(arguments: argparse.Namespace, runs: Mapping[str, Runs]) -> None:
    """Make the searches that are asked for and not there."""
    for name, evaluations in STUDIES.items():
        table: Table | None = None
        for sampler, seed in product(arguments.only or SAMPLERS, range(arguments.seeds)):
            is_there = seed in runs[name].searches.get(sampler, {})
            if (is_there and not arguments.again) or (sampler == "gp" and not find_spec("torch")):
                continue
            table = table or Table(name, arguments.cache)
            began = time.process_time()
            runs[name].add(sampler, seed, searched(table, sampler, seed, evaluations))
            print(f"{name} {sampler} {seed}: {time.process_time() - began:.1f} s", flush=True)
            save_runs(runs)


def main() -> None:
    """Make the searches that are missing; print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=())
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--cache", type=Path, default=Path("runs/samplers.jsonl"))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    arguments.cache.parent.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    runs = load_runs()
    search_all(arguments, runs)
    sections = [
        section(load_study(find_study(name)), evaluations, arguments.seeds, runs[name])
        for name, evaluations in STUDIES.items()
    ]
    page = PAGE.format(seeds=arguments.seeds, sections="\n".join(sections))
    if arguments.write:
        PAGE_FILE.write_text(page, encoding="utf-8")
    print(page)


PAGE = """\
# Samplers compared

Written by `python benchmarks/samplers.py --write`, from the searches in `samplers.jsonl` beside it.

Every sampler searches three shipped studies with {seeds} seeds, in batches of 10, from the study's
baselines on. A design counts once, however often it is proposed, and one that cannot be built does
not count; a search ends, too, when it has tried twice as many designs as count, or the whole space.
The figure is the hypervolume of
the front found so far, as a share of the hypervolume of all designs that any search evaluated; the
box spans from the best to 1.1 times the distance to the worst of these. Median over the seeds, with
quartiles. The last column is the Mann-Whitney test of the last figures against those of `random`,
two-sided. `grid` takes no seed, so its rows are alike. `cmaes` takes one objective: it is given the
product of the logarithms. `gp` (torch, one thread) takes half a minute of a processor for a search
of `tenstorrent_matmul` and 70 s for one of each of the others, on a machine with other work, nearly
all of it in the acquisition function of Optuna's sampler; all designs of all samplers and seeds
together take less than two minutes. Where Optuna's arithmetic fails on a proposal (in 1 of 30
searches of an earlier day), the design is drawn at random (`dse/sampling/steady_gp.py`). With
torch, `python benchmarks/samplers.py --only gp --write` makes searches of it that are missing.

{sections}"""


if __name__ == "__main__":
    main()
