"""Compare the samplers on three shipped studies; write the page of it.

    python benchmarks/samplers.py [--seeds 10] [--cache FILE] [--write docs/validation/samplers.md]

Each sampler searches each study with each seed. A design is evaluated once and its outcome kept in
the cache, a JSON file, so that the command can be stopped and run again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
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
"""Different designs that a search of each study may evaluate."""
SAMPLERS = (
    "random", "qmc", "grid", "tpe", "nsga2", "nsga3", "bottleneck", "cmaes",
    "optuna.samplers.QMCSampler",
)  # fmt: skip
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

    def costs(self) -> Any:
        """Return the objectives of all feasible designs in the cache, smaller being better."""
        results = [self.result(tuple(json.loads(key))) for key in self._outcomes]
        return self.costs_of(results)

    def costs_of(self, results: Sequence[Result]) -> Any:
        """Return the objectives of those designs that are feasible and meet the limits."""
        goals = [objective.goal for objective in self.spec.objectives]
        return oriented([r.values for r in results if _is_good(r) and r.values is not None], goals)


def _is_good(result: Result) -> bool:
    return result.values is not None and all(over <= 0 for over in result.excess.values())


def searched(table: Table, sampler: str, seed: int, evaluations: int) -> list[Result]:
    """Return the results of the different designs that a search evaluates, in order."""
    spec = table.spec
    alone = sampler in ONE_OBJECTIVE
    objectives = (Objective("product"),) if alone else spec.objectives
    start = tuple(spec.space.choice(baseline.point) for baseline in spec.baselines)
    population = max(4, min(20, evaluations // 5))
    search = make_sampler(SamplerSettings(sampler, seed, objectives, start, population), spec.space)
    seen: dict[Choice, Result] = {}
    fresh = told = 0
    for batch in count():
        size = min(SMALL_BATCH, evaluations - len(seen))
        results = [table.result(p.choice) for p in search.propose(batch, told, size)]
        told += size
        fresh = batch if any(result.choice not in seen for result in results) else fresh
        seen.update((result.choice, result) for result in results if result.choice not in seen)
        search.tell([_as_one(result) if alone else result for result in results])
        if len(seen) >= evaluations or batch - fresh >= PATIENCE:
            return list(seen.values())
    raise AssertionError("unreachable")


def _as_one(result: Result) -> Result:
    values = result.values
    product = None if values is None else (float(np.prod(np.log1p(np.abs(values)))),)
    return replace(result, values=product)


@dataclass(frozen=True, slots=True)
class Curves:
    """Hypervolume (1: the box) of all seeds of one sampler at each mark of the evaluations."""

    sampler: str
    values: Mapping[float, Sequence[float]]


def curves_of(table: Table, runs: Mapping[str, Sequence[Sequence[Result]]], most: int) -> list[Any]:
    """Return the hypervolumes of all searches in one box: from the best to 1.1 x the worst."""
    costs = table.costs()
    ideal, worst = costs.min(axis=0), costs.max(axis=0)
    reference = ideal + 1.1 * (worst - ideal)
    whole = hypervolume(costs, ideal, reference)
    return [
        Curves(
            sampler,
            {
                mark: [
                    hypervolume(table.costs_of(run[: int(mark * most)]), ideal, reference) / whole
                    for run in searches
                ]
                for mark in MARKS
            },
        )
        for sampler, searches in runs.items()
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


def section(name: str, evaluations: int, seeds: int, cache: Path) -> str:
    """Return the section of one study."""
    table = Table(name, cache)
    runs = {
        sampler: [searched(table, sampler, seed, evaluations) for seed in range(seeds)]
        for sampler in SAMPLERS
    }
    rows = rows_of(curves_of(table, runs, evaluations))
    space, goals = table.spec.space.size, ", ".join(o.metric for o in table.spec.objectives)
    heads = " | ".join(f"after {int(mark * evaluations)}" for mark in MARKS)
    return "\n".join(
        [f"## {name}", "", f"{space:,} designs; objectives {goals}; {evaluations} evaluations.", "",
         f"| sampler | {heads} | against random |", "|---|---|---|---|---|", *rows, ""]
    )  # fmt: skip


def main() -> None:
    """Run all searches and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cache", type=Path, default=Path("runs/samplers.jsonl"))
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    arguments.cache.parent.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    sections = [
        section(name, evaluations, arguments.seeds, arguments.cache)
        for name, evaluations in STUDIES.items()
    ]
    page = PAGE.format(seeds=arguments.seeds, sections="\n".join(sections))
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    print(page)


PAGE = """\
# Samplers compared

Written by `python benchmarks/samplers.py --write docs/validation/samplers.md`.

Every sampler searches three shipped studies with {seeds} seeds, in batches of 10, from the study's
baselines on. A design counts once, however often it is proposed. The figure is the hypervolume of
the front found so far, as a share of the hypervolume of all designs that any search evaluated; the
box spans from the best to 1.1 times the distance to the worst of these. Median over the seeds, with
quartiles. The last column is the Mann-Whitney test of the last figures against those of `random`,
two-sided. `grid` takes no seed, so its rows are alike. `cmaes` takes one objective: it is given the
product of the logarithms. `gp` needs torch and was not run.

{sections}"""


if __name__ == "__main__":
    main()
