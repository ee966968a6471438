"""Ask a run: filter and sort its trials, fronts over any metrics, the knee, near designs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.arch.errors import ExpressionError, SpecError, TilewrightError
from tilewright.arch.expressions.expressions import UnknownNameError, compile_expression
from tilewright.arch.quantities import label, quantity, some, told_apart, unit_of_metric
from tilewright.dse.query.condition import check_condition, comparisons
from tilewright.dse.run.figures import check_names, is_plain_name, names_of, nested, value_of
from tilewright.dse.run.pareto import Goal, non_dominated
from tilewright.dse.run.record import Trial
from tilewright.dse.run.rundir import SPEC, RunDirectory
from tilewright.dse.run.trials.evaluated_trial import base_of
from tilewright.dse.store.safe_files import RunError
from tilewright.dse.study.knobs import knob_text, labels_of
from tilewright.dse.study.study import StudySpec
from tilewright.dse.study.study_loading import load_stored_study
from tilewright.mapper.fronts.knee import Column, knee


@dataclass(frozen=True)
class RunTrials:
    """The trials of a run, or some of them, in an order.

    `directory`: of the run; `spec`: its study; `trials`: chosen ones; `everything`: all of the run;
    `seconds`: of each evaluation by trial number. What is asked gives the same type again:
    `run.where("latency < 1 ms").sorted_by("edp").front("energy", "latency")`.
    """

    directory: RunDirectory
    spec: StudySpec
    trials: tuple[Trial, ...]
    everything: tuple[Trial, ...]
    seconds: Mapping[int, float]

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, position: int) -> Trial:
        return self.trials[position]

    def trial(self, number: int) -> Trial:
        """Return the trial of the run with a number; RunError if there is none."""
        if not self.everything:
            raise RunError("the run has no trials yet", instead="study resume goes on with it")
        if not 0 <= number < len(self.everything):
            raise RunError(
                f"the run has no trial {number}", instead=f"0 to {len(self.everything) - 1}"
            )
        return self.everything[number]

    def where(self, condition: str) -> RunTrials:
        """Return the trials for which a condition holds.

        It is an expression over metrics, knobs (by name, label or path) and `trial`, `status`,
        `baseline`, `proof`, `gap`, `seconds`, `verified`; units are allowed: `latency < 1 ms and
        Buffer.size <= 64 KiB`. A trial without one of the values is left out. SpecError for wrong
        syntax, a name or value that no trial has, or a metric in a unit of something else.
        """
        if not self.everything:  # no name has a value yet
            return self
        check_condition(condition, self._known(), self._texts())
        return self._only([trial for trial, holds in self._answers(condition) if holds])

    def _texts(self) -> set[str]:
        """Return the texts that knobs, and other columns of the trials, have as values."""
        knobs = self.spec.space.dimensions
        texts = {value for knob in knobs for value in knob.values if isinstance(value, str)}
        return texts | {
            text for t in self.everything for text in (t.status, t.proof, t.baseline) if text
        }

    def _answers(self, condition: str) -> list[tuple[Trial, Any]]:
        """Return the trials that have all values of a condition, and what it says of each.

        ExpressionError if it cannot be evaluated for any of them.
        """
        rule = compile_expression(condition)
        answers: list[tuple[Trial, Any]] = []
        failures: list[ExpressionError] = []
        for trial in self.trials:
            try:
                answers.append((trial, rule(self.names(trial))))
            except UnknownNameError:  # it has no such metric, or no gap
                continue
            except ExpressionError as error:
                failures.append(error)
        if failures and not answers:
            raise failures[-1]
        return answers

    def spans(self, condition: str, of_knobs: bool = False) -> list[str]:
        """Return a line for each limit in a condition: the range of the trials' values, the limit.

        So that a limit in another unit than the values of a knob can be seen, such as `size is 8192
        to 65536 here, 64 B is 512`; those are in SI units and bits. `of_knobs`: only limits of
        knobs with a unit that are beyond all values.
        """
        knobs = {*labels_of(self.spec.space), *self.spec.space.paths}
        lines: list[str] = []
        for name, limit in comparisons(condition):
            try:
                number = value_of(limit, {})
                values = [value for _, value in self._values(name)] if is_plain_name(name) else []
            except SpecError:
                continue
            if not values:
                continue
            low, high = min(values), max(values)
            doubtful = name in knobs and limit[-1:].isalpha() and not low <= number <= high
            if doubtful or not of_knobs:
                lines.append(_span(name, low, high, limit, number))
        return lines

    def sorted_by(self, expression: str, *, descending: bool = False) -> RunTrials:
        """Return the trials by the value of an expression, the smallest first.

        A trial without a value is left out. SpecError as of `where`.
        """
        ranked = sorted(
            (value if not descending else -value, trial.number, trial)
            for trial, value in self._values(expression)
        )
        return self._only([trial for _, _, trial in ranked])

    def designs(self) -> RunTrials:
        """Return the trials without those that repeat the design of an earlier one."""
        return self._only([trial for trial in self.trials if trial.same_as is None])

    def front(self, *metrics: str) -> RunTrials:
        """Return the feasible trials that no other dominates, each design once.

        `metrics`: expressions, by default the objectives of the study. Those that the study
        maximizes are maximized, all others are minimized.
        """
        goals: Mapping[str, Goal] = {o.metric: o.goal for o in self.spec.objectives}
        names = metrics or tuple(goals)
        signs = [-1.0 if goals.get(name) == "maximize" else 1.0 for name in names]
        chosen, values = self._feasible_designs(names)
        if not chosen:
            return self._only([])
        costs = np.array(values) * signs
        ranked = sorted(
            (tuple(costs[i].tolist()), chosen[i].number, i)
            for i in np.flatnonzero(non_dominated(costs))
        )
        return self._only([chosen[i] for _, _, i in ranked])

    def _feasible_designs(self, names: Sequence[str]) -> tuple[list[Trial], list[list[float]]]:
        """Return the feasible designs that have values of all expressions, with these values."""
        good = self.designs()._only([t for t in self.designs() if t.status == "feasible"])
        columns = [{t.number: v for t, v in good._values(name)} for name in names]
        for name, column in zip(names, columns, strict=True):
            if not column and len(good):
                raise SpecError("no feasible trial has a number for this", value=name)
        chosen = [t for t in good if all(t.number in column for column in columns)]
        return chosen, [[column[t.number] for column in columns] for t in chosen]

    def knee(self, *metrics: str) -> Trial:
        """Return the design of the front that is nearest to the best of every metric.

        Each metric is scaled to its span over the front. RunError if no design is feasible.
        """
        front = self.front(*metrics)
        if not len(front):
            raise RunError("the run has no feasible design")
        goals = {o.metric: o.goal for o in self.spec.objectives}
        names = metrics or tuple(goals)
        signs = [-1.0 if goals.get(name) == "maximize" else 1.0 for name in names]
        columns = [
            Column(tuple(sign * value for _, value in front._values(name)))
            for name, sign in zip(names, signs, strict=True)
        ]
        return front[knee(columns)]

    def neighbours(self, number: int, count: int = 5) -> list[Trial]:
        """Return the trials whose knobs differ least from those of a trial, the nearest first.

        The distance counts the steps between the values of a knob, each as a share of its range; an
        unordered knob counts 1 where it differs. Each design comes once.
        """
        space = self.spec.space
        centre = space.choice(self.trial(number).point)
        ranked: list[tuple[float, int, Trial]] = []
        for trial in self.everything:
            if trial.same_as is None and trial.number != number:
                choice = space.choice(trial.point)
                steps = [
                    abs(a - b) / max(1, len(d.values) - 1) if d.ordered else float(a != b)
                    for a, b, d in zip(choice, centre, space.dimensions, strict=True)
                ]
                ranked.append((sum(steps), trial.number, trial))
        return [trial for _, _, trial in sorted(ranked)[:count]]

    def rows(self) -> list[dict[str, Any]]:
        """Return the trials as flat rows: number, status, knobs by label, metrics, proof."""
        labels = labels_of(self.spec.space)
        best = {trial.number for trial in replace(self, trials=self.everything).front()}
        return [
            {
                "trial": trial.number,
                "status": trial.status,
                "feasible": trial.status == "feasible",
                "pareto_optimal": trial.number in best,
                "baseline": trial.baseline,
                "same_as": trial.same_as,
                **{n: trial.point[p] for n, p in zip(labels, self.spec.space.paths, strict=True)},
                **trial.metrics,
                "proof": trial.proof,
                "gap": trial.gap,
                "verified": trial.verified,
                "seconds": self.seconds.get(trial.number),
                "reason": trial.reason,
            }
            for trial in self.trials
        ]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame; TilewrightError without pandas."""
        from tilewright.arch.frames import frame

        return frame(self.rows())

    def to_polars(self) -> Any:
        """Return the rows as a polars DataFrame; TilewrightError without polars."""
        from importlib import import_module

        try:
            polars = import_module("polars")
        except ImportError:
            raise TilewrightError(
                "this table needs polars, which is not installed", instead="pip install polars"
            ) from None
        return polars.DataFrame(self.rows(), infer_schema_length=None)

    def table(self, limit: int = 20, also: Sequence[str] = ()) -> list[list[str]]:
        """Return a table of texts, the head first: trial, objectives, knobs, status.

        `limit`: rows at most; `also`: expressions whose values have columns beside the objectives.
        """
        objectives = [objective.metric for objective in self.spec.objectives]
        shown = self._only(self.trials[:limit])
        columns = [shown._column(name) for name in dict.fromkeys([*objectives, *also])]
        paths = self.spec.space.paths
        head = ["trial", *(name for name, _ in columns), *labels_of(self.spec.space), "status"]
        rows = [
            [
                str(trial.number),
                *(texts.get(trial.number, "–") for _, texts in columns),
                *(knob_text(path, trial.point[path]) for path in paths),
                trial.status if trial.baseline is None else f"{trial.status}, {trial.baseline}",
            ]
            for trial in shown
        ]
        return [head, *rows]

    def __repr__(self) -> str:
        return f"<RunTrials of {self.spec.name}: {some(len(self), 'trial')}>"

    def _repr_html_(self) -> str:
        """Return the first 20 trials as a table for a notebook."""
        from tilewright.arch.html_parts import html_table

        table = self.table()
        title = f"{self.spec.name}: {some(len(self), 'trial')}"
        title += f", the first {len(table) - 1}" if len(table) - 1 < len(self) else ""
        return html_table(table, ">" * (len(table[0]) - 1) + "<", title)

    def names(self, trial: Trial) -> dict[str, object]:
        """Return the names that an expression about a trial may use, with their values."""
        base = base_of(self.spec, self.everything)
        labels = dict(zip(labels_of(self.spec.space), self.spec.space.paths, strict=True))
        return {
            **nested(dict(trial.point)),
            **nested({name: trial.point[path] for name, path in labels.items()}),
            **names_of(trial.metrics, base),
            "trial": trial.number,
            "status": trial.status,
            "baseline": trial.baseline or "",
            "proof": trial.proof or "",
            **({} if trial.gap is None else {"gap": trial.gap}),
            **({"seconds": self.seconds[trial.number]} if trial.number in self.seconds else {}),
            "verified": bool(trial.verified),
        }

    def _values(self, expression: str) -> list[tuple[Trial, float]]:
        check_names(expression, self._known())
        values: list[tuple[Trial, float]] = []
        for trial in self.trials:
            try:
                values.append((trial, value_of(expression, self.names(trial))))
            except SpecError:  # it has no such value
                continue
        return values

    def _column(self, name: str) -> tuple[str, dict[int, str]]:
        """Return the head of a column and its texts by trial, with digits that tell them apart."""
        values = self._values(name)
        unit = name if is_plain_name(name) else ""
        texts = told_apart([value for _, value in values], unit)
        numbers = (trial.number for trial, _ in values)
        return label(name), dict(zip(numbers, texts, strict=True))

    def _known(self) -> set[str]:
        """Return the names that expressions may use, also those of which no trial has a value."""
        asked = {name for o in self.spec.objectives for name in compile_expression(o.metric).free}
        of_trials = {name for trial in self.everything for name in self.names(trial)}
        return of_trials | asked | {"gap", "seconds"}

    def _only(self, trials: Sequence[Trial]) -> RunTrials:
        return replace(self, trials=tuple(trials))


def open_run(directory: Path | str) -> RunTrials:
    """Open the run in a directory, also one that has not ended.

    Raises RunError if there is none, SpecError for a damaged file.
    """
    run = RunDirectory.open(Path(directory))
    spec = load_stored_study(run.path / SPEC)
    trials = tuple(run.trials(spec))
    return RunTrials(run, spec, trials, trials, run.seconds())


def _span(name: str, low: float, high: float, limit: str, number: float) -> str:
    """Return a sentence on the values of a metric or knob, and on a limit with a unit."""
    is_metric = bool(unit_of_metric(name))
    ends = (quantity(v, name) if is_metric else f"{v:.6g}" for v in (low, high))
    sentence = f"{name} is {' to '.join(dict.fromkeys(ends))} here"
    return (
        sentence
        if is_metric or not limit[-1:].isalpha()
        else f"{sentence}, {limit} is {number:.6g}"
    )
