"""The answer of a study in words and numbers: the best designs beside the reference."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.arch.quantities import label, quantity, some
from tilewright.dse.run.pareto import Goal
from tilewright.dse.run.record import (
    Objective,
    Trial,
    TrialStatus,
    costs_of,
    front_of,
    points_of,
    refused_in,
)
from tilewright.dse.study.knobs import knob_text, labels_of
from tilewright.dse.study.study import StudySpec
from tilewright.mapper.searches.result import gap_text

WIDE_GAP = 0.1
"""From this relative distance to its lower bound on, a mapping puts a comparison in doubt."""


@dataclass(frozen=True, slots=True)
class BestDesign:
    """A design of the Pareto front that stands out, and how it compares with the reference.

    `title`: why, such as `Lowest energy` or `Balanced`; `trial`: the design; `value`: its metric
    with unit; `comparison`: in words, empty without a reference; `better`: than the reference, None
    if the same or not to be said.
    """

    title: str
    trial: Trial
    value: str
    comparison: str
    better: bool | None


def reference_of(trials: Sequence[Trial]) -> Trial | None:
    """Return the reference design: the first baseline among the trials.

    None if there is no baseline, or if it has no metrics.
    """
    first = next((trial for trial in trials if trial.baseline), None)
    return first if first is not None and first.metrics else None


def compare(value: float, reference: float, goal: Goal) -> tuple[str, bool | None]:
    """Return how a value stands to a reference, in words, and whether that is better.

    The words are `2.6× lower`, `12 % higher` or `the same`; for equal values better is None.
    `goal`: minimize or maximize.
    """
    if value == reference:
        return "the same", None
    direction = "lower" if value < reference else "higher"
    better = (value < reference) == (goal == "minimize")
    small, large = sorted((abs(value), abs(reference)))
    if small == 0 or (value < 0) != (reference < 0):
        return direction, better
    if large / small >= 2:
        return f"{large / small:,.3g}× {direction}", better
    return f"{_percent(abs(value - reference) / abs(reference))} {direction}", better


def _percent(share: float) -> str:
    percent = 100 * share
    if percent < 0.05:
        return "under 0.1 %"
    return f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def highlights(spec: StudySpec, trials: Sequence[Trial]) -> list[BestDesign]:
    """Return the best design of each objective, and the balanced one if there are several.

    The balanced design is the one of the Pareto front that is nearest to the best of every
    objective, each scaled to its span; there is none if the front has fewer than three points.
    Empty without a feasible design.
    """
    front = front_of(trials, spec.objectives)
    if not front:
        return []
    reference = reference_of(trials)
    best_designs = [_best(objective, front, reference) for objective in spec.objectives]
    if len(spec.objectives) > 1 and points_of(front, spec.objectives) > 2:
        best_designs.append(_balanced(spec, front, reference))
    return best_designs


def _best(objective: Objective, front: Sequence[Trial], reference: Trial | None) -> BestDesign:
    sign = 1 if objective.goal == "minimize" else -1
    trial = min(front, key=lambda t: (sign * t.metrics[objective.metric], t.number))
    value = trial.metrics[objective.metric]
    superlative = "Lowest" if objective.goal == "minimize" else "Highest"
    words, better = "", None
    if reference is not None:
        words, better = compare(value, reference.metrics[objective.metric], objective.goal)
    title = f"{superlative} {label(objective.metric)}"
    return BestDesign(title, trial, quantity(value, objective.metric), words, better)


def _balanced(spec: StudySpec, front: Sequence[Trial], reference: Trial | None) -> BestDesign:
    """Return the design of the front that is nearest to the best value of every objective at once.

    Distances are Euclidean, with each objective scaled to its range on the front.
    """
    import numpy as np

    costs = costs_of(front, spec.objectives)
    span = np.ptp(costs, axis=0)
    scaled = (costs - costs.min(axis=0)) / np.where(span > 0, span, 1.0)
    trial = front[int(np.argmin((scaled**2).sum(axis=1)))]
    values = " · ".join(quantity(trial.metrics[o.metric], o.metric) for o in spec.objectives)
    words = ""
    if reference is not None:
        words = ", ".join(_compared(objective, trial, reference) for objective in spec.objectives)
    return BestDesign("Balanced", trial, values, words, None)


def _compared(objective: Objective, trial: Trial, reference: Trial) -> str:
    name = objective.metric
    words, _ = compare(trial.metrics[name], reference.metrics[name], objective.goal)
    return f"{label(name)} {words}"


_FATES: Mapping[TrialStatus, str] = {
    "violates": "beyond a limit",
    "infeasible": "cannot be built",
    "excluded": "excluded by lower bounds",
    "failed": "could not be evaluated",
    "error": "hit a defect of the model",
}
"""What became of designs that are not feasible, by status."""


def census(trials: Sequence[Trial], front: int, points: int = 0) -> str:
    """Return sentences that say how many designs were tried and what became of them.

    `front`: number of designs on the Pareto front; `points`: how many differ.
    """
    distinct = [trial for trial in trials if trial.same_as is None]
    counts = Counter(trial.status for trial in distinct)
    if not trials:
        return "No batch was finished: nothing has been tried yet."
    text = f"{some(len(distinct), 'design')} {'was' if len(distinct) == 1 else 'were'} tried"
    if len(distinct) < len(trials):
        text = text.replace("designs were", "different designs were")
        text += f" in {some(len(trials), 'trial')}"
    sentences = [f"{counts['feasible']:,} can be built within the limits"]
    sentences += [f"{counts[fate]:,} {words}" for fate, words in _FATES.items() if counts[fate]]
    return f"{text}: {', '.join(sentences)}.{_unbeaten(front, points)}{_refused(trials)}"


def _refused(trials: Sequence[Trial]) -> str:
    """Return a sentence about proposals that were drawn again; empty if there were none."""
    proposals = sum(1 for _ in refused_in(trials))
    if not proposals:
        return ""
    verbs = "cannot be built and was" if proposals == 1 else "cannot be built and were"
    return f" {some(proposals, 'further proposal')} {verbs} drawn again, untried."


def _unbeaten(front: int, points: int) -> str:
    """Return a sentence about the designs of the Pareto front, and its points if they are fewer."""
    if not front:
        return ""
    best = f" {front:,} of them {'is' if front == 1 else 'are'} beaten by no other"
    if not 0 < points < front:
        return f"{best}."
    where = "the same point" if points == 1 else some(points, "different point")
    return f"{best}, at {where}."


def conclusion(spec: StudySpec, trials: Sequence[Trial]) -> str:
    """Return the answer of a study as plain text.

    It has the question, counts of designs, and the best designs, or the reasons why there are none.
    """
    front = front_of(trials, spec.objectives)
    lines = [
        *textwrap.wrap(spec.question, 96),
        "",
        census(trials, len(front), points_of(front, spec.objectives)),
    ]
    reference = reference_of(trials)
    for best in highlights(spec, trials):
        if reference is not None and best.trial.number == reference.number:
            lines.append(f"  {best.title}: {best.value}, the reference design")
            continue
        words = _against_reference(best)
        lines.append(f"  {best.title}: {best.value}{words}, trial {best.trial.number}")
        lines.append(f"    {_knobs(spec, best.trial, reference)}")
    if doubt := caution(spec, trials):
        lines += textwrap.wrap(doubt, 96, initial_indent="  ", subsequent_indent="  ")
    lines += [f"  Published: {text}" for text in published_figures(spec, front)]
    if not front and trials:
        lines += ["No design is feasible. The reasons:", *_reasons(trials)]
    return "\n".join(lines)


def caution(spec: StudySpec, trials: Sequence[Trial]) -> str:
    """Return what to beware of in the comparison of the best designs; empty where it is sound.

    A mapping far from its lower bound may be a poor one of a good design.
    """
    reference = reference_of(trials)
    named = [best.trial for best in highlights(spec, trials)]
    gaps = [each.gap or 0.0 for each in (*named, reference) if each and each.proof == "bounded"]
    if max(gaps, default=0.0) <= WIDE_GAP:
        return ""
    text = (
        "Beware: mappings of these designs are not proven optimal, with gaps of up to"
        f" {gap_text(max(gaps))}: differences may come from the search for mappings."
    )
    is_limited = spec.model == "analytical" and "budget" in spec.mapper
    return f"{text} A longer mapper.budget narrows them." if is_limited else text


def _against_reference(best: BestDesign) -> str:
    """Return how a design compares with the reference, in brackets; nothing without one."""
    if not best.comparison:
        return ""
    if best.comparison == "the same" or best.title == "Balanced":
        return f" (against the reference: {best.comparison})"
    return f" ({best.comparison} than the reference)"


def published_figures(spec: StudySpec, front: Sequence[Trial]) -> list[str]:
    """Return each published figure of a study in words, beside the best design's.

    `front`: designs to take the best of; without one, the figures stand alone.
    """
    goals = {objective.metric: objective.goal for objective in spec.objectives}
    texts = []
    for figure in spec.published:
        text = f"{figure.name}: {quantity(figure.value, figure.metric)}"
        if front:
            pick = max if goals.get(figure.metric, "minimize") == "maximize" else min
            value = pick(trial.metrics[figure.metric] for trial in front)
            words, _ = compare(value, figure.value, "minimize")
            text += f"; best design {quantity(value, figure.metric)}, {words}"
        texts.append(f"{text} ({figure.source})")
    return texts


def _knobs(spec: StudySpec, trial: Trial, reference: Trial | None) -> str:
    """List the knobs of a design; with a reference design, those in which it differs."""
    names = dict(zip(spec.space.paths, labels_of(spec.space), strict=True))
    if reference is None:
        return ", ".join(f"{names[p]} {knob_text(p, trial.point[p])}" for p in names)
    changed = [p for p in names if trial.point[p] != reference.point[p]]
    if not changed:
        return "this is the reference design"
    knob_texts = [f"{names[p]} {knob_text(p, trial.point[p])}" for p in changed]
    unchanged_text = ", the rest as the reference" if len(changed) < len(names) else ""
    return ", ".join(knob_texts) + unchanged_text


def _reasons(trials: Sequence[Trial], limit: int = 8) -> list[str]:
    from tilewright.dse.report.reasons import group_reasons

    return [f"  {group.count} × {group.example}" for group in group_reasons(trials)[:limit]]
