"""Whether a search can be trusted: health cards, what each knob matters, the smallest change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tilewright.arch.quantities import label, some
from tilewright.dse.report.conclusion import reference_of
from tilewright.dse.run.record import Trial, costs_of, front_of
from tilewright.dse.study.knobs import knob_text, labels_of
from tilewright.dse.study.study import StudySpec
from tilewright.mapper.searches.result import gap_text

_MANY = 0.5  # share of designs from which on a card warns
_DEAD = 0.01  # share of the spread below which a knob has little effect
_LEAST_VALUES = 2
_LEAST_PAIRS = 3  # of designs that differ in one knob, before it is said to change nothing
_ROUNDING = 1e-9
_KEPT = 0.9  # of the gain, that the smallest change keeps


@dataclass(frozen=True, slots=True)
class HealthCard:
    """One thing to know about a search: `title`, `words`, and `level`, good or warn."""

    title: str
    words: str
    level: Literal["good", "warn"]


@dataclass(frozen=True, slots=True)
class SmallestChange:
    """The fewest knobs that keep most of the gain in an objective over the reference.

    `metric`: the objective; `trial`: the design; `knobs`: label and value of those that differ from
    the reference; `of`: how many differ in the best design; `share`: of the gain that it keeps.
    """

    metric: str
    trial: int
    knobs: tuple[tuple[str, str], ...]
    of: int
    share: float


def health_cards(spec: StudySpec, trials: Sequence[Trial]) -> list[HealthCard]:
    """Return what there is to know about a search, the most important card first."""
    designs = [trial for trial in trials if trial.same_as is None]
    if not designs:
        return []
    return [
        _share(designs, "infeasible", "Designs that cannot be built"),
        _share(designs, "violates", "Designs beyond a limit"),
        *_not_evaluated(designs),
        *_unproven(designs),
        _dead_knobs(spec, designs),
        _edges(spec, trials),
        *_no_gain(spec, trials),
    ]


def importance(spec: StudySpec, trials: Sequence[Trial]) -> dict[str, list[float]]:
    """Return for each objective the share of its spread that each knob explains, 0 to 1.

    It is the correlation ratio: the variance of the means over the values of a knob, divided by the
    variance of all designs with metrics. Shares of several knobs may add up to more than 1 where
    the designs tried are not spread evenly. A knob has no share if no designs that differ in it
    alone differ in the objective.
    """
    good = [t for t in trials if t.metrics and t.same_as is None]
    choices = [spec.space.choice(t.point) for t in good]
    shares: dict[str, list[float]] = {}
    for objective in spec.objectives:
        values = np.array([t.metrics[objective.metric] for t in good])
        shares[objective.metric] = [
            0.0
            if _changes_nothing(values, choices, position)
            else _ratio(values, [choice[position] for choice in choices])
            for position in range(len(spec.space.dimensions))
        ]
    return shares


def chance_share(spec: StudySpec, trials: Sequence[Trial]) -> float:
    """Return the share that a knob without any effect explains on average, at most 1.

    It is of the knob with the most values: (values - 1) / (designs - 1), for values of an objective
    in random order. 0 if all designs of the space were tried: then nothing is left to chance.
    """
    good = [t for t in trials if t.metrics and t.same_as is None]
    if len(good) < _LEAST_VALUES or len(good) == spec.space.size:
        return 0.0
    tried = (len({t.point[path] for t in good}) for path in spec.space.paths)
    return min(1.0, (max(tried) - 1) / (len(good) - 1))


def _changes_nothing(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    choices: Sequence[tuple[int, ...]],
    position: int,
) -> bool:
    """Return whether a knob makes no difference to a metric in any designs that differ in it alone.

    values: of the metric by design; choices: value indices by design; position: of the knob. False
    if there are too few such designs to say.
    """
    alike: dict[tuple[int, ...], list[float]] = {}
    for value, choice in zip(values.tolist(), choices, strict=True):
        others = choice[:position] + choice[position + 1 :]
        alike.setdefault(others, []).append(value)
    compared = sum(len(group) - 1 for group in alike.values())
    return compared >= _LEAST_PAIRS and all(
        max(group) - min(group) <= _ROUNDING * abs(max(group)) for group in alike.values()
    )


def smallest_changes(spec: StudySpec, trials: Sequence[Trial]) -> Iterator[SmallestChange]:
    """Yield for each objective the design with the fewest changes that keeps the gain.

    It is one of the designs tried, and keeps 90 % of the best gain over the reference. Nothing for
    an objective in which no design is better than the reference.
    """
    reference = reference_of(trials)
    if reference is None:
        return
    good = [t for t in trials if t.status == "feasible" and t.same_as is None]
    for objective in spec.objectives:
        (start,), *rest = costs_of([reference, *good], [objective])
        gains = {t.number: float(start - cost[0]) for t, cost in zip(good, rest, strict=True)}
        best = max(good, key=lambda t: (gains[t.number], -t.number), default=None)
        if best is None or gains[best.number] <= 0:
            continue
        enough = [t for t in good if gains[t.number] >= _KEPT * gains[best.number]]
        chosen = min(
            enough, key=lambda t: (len(_changed(t, reference)), -gains[t.number], t.number)
        )
        knobs = _knobs_changed(spec, chosen, reference)
        share = gains[chosen.number] / gains[best.number]
        of = len(_changed(best, reference))
        yield SmallestChange(objective.metric, chosen.number, knobs, of, share)


def _knobs_changed(spec: StudySpec, trial: Trial, reference: Trial) -> tuple[tuple[str, str], ...]:
    """Return the label and the value of each knob that differs from the reference design."""
    labels = dict(zip(spec.space.paths, labels_of(spec.space), strict=True))
    changed = _changed(trial, reference)
    return tuple((labels[path], knob_text(path, trial.point[path])) for path in changed)


def _changed(trial: Trial, reference: Trial) -> list[str]:
    return [path for path, value in trial.point.items() if value != reference.point[path]]


def _ratio(values: np.ndarray[tuple[int], np.dtype[np.float64]], groups: Sequence[int]) -> float:
    if not values.size:
        return 0.0
    scaled = values.astype(np.float64)
    _, exponent = np.frexp(np.abs(scaled).max())
    values = np.ldexp(scaled, -exponent)  # below 1, so that no square is infinite; exact
    spread = float(values.var())
    if spread == 0.0 or len(set(groups)) < _LEAST_VALUES:
        return 0.0
    of_group = np.array(groups)
    means = {group: float(values[of_group == group].mean()) for group in set(groups)}
    between = np.array([means[group] for group in groups]).var()
    return min(1.0, float(between) / spread)


def _share(designs: Sequence[Trial], status: str, title: str) -> HealthCard:
    count = sum(trial.status == status for trial in designs)
    words = f"{count} of {some(len(designs), 'design')}"
    if count > _MANY * len(designs):
        return HealthCard(title, f"{words}: most of the search taught little", "warn")
    return HealthCard(title, words, "good")


def _not_evaluated(designs: Sequence[Trial]) -> Iterator[HealthCard]:
    failed = [trial.number for trial in designs if trial.status in ("failed", "error")]
    if failed:
        words = f"{some(len(failed), 'design')}, first trial {failed[0]}; study resume DIR --retry"
        yield HealthCard("Not evaluated", words, "warn")


def _unproven(designs: Sequence[Trial]) -> Iterator[HealthCard]:
    proofs = [trial for trial in designs if trial.proof is not None]
    bounded = [trial for trial in proofs if trial.proof == "bounded"]
    if not proofs:
        return
    if not bounded:
        yield HealthCard("Mappings proven optimal", f"all {len(proofs)}", "good")
        return
    gap = max((trial.gap or 0.0) for trial in bounded)
    words = f"{len(bounded)} of {len(proofs)}; the largest gap is {gap_text(gap)}"
    yield HealthCard("Mappings not proven optimal", words, "warn")


def _dead_knobs(spec: StudySpec, designs: Sequence[Trial]) -> HealthCard:
    shares = importance(spec, designs)
    dead = [
        name
        for position, name in enumerate(labels_of(spec.space))
        if len({trial.point[spec.space.paths[position]] for trial in designs}) >= _LEAST_VALUES
        and all(values[position] < _DEAD for values in shares.values())
    ]
    if dead and any(any(values) for values in shares.values()):
        words = f"{', '.join(dead)}: under {100 * _DEAD:g} % of the spread"
        return HealthCard("Knobs with little effect", words, "warn")
    return HealthCard("Knobs with little effect", "none", "good")


def _edges(spec: StudySpec, trials: Sequence[Trial]) -> HealthCard:
    """Name the ordered knobs that stand at one end of their range in all of the front."""
    front = front_of(trials, spec.objectives)
    names = []
    for dimension, name in zip(spec.space.dimensions, labels_of(spec.space), strict=True):
        ends = {dimension.values[0]: "least", dimension.values[-1]: "largest"}
        values = {trial.point[dimension.path] for trial in front}
        if (
            dimension.ordered
            and len(dimension.values) > 1
            and len(values) == 1
            and values <= set(ends)
        ):
            names.append(f"{name} at its {ends[values.pop()]} value")
    if names:
        return HealthCard("Edges of the space hit", f"{', '.join(names)}: a wider range?", "warn")
    return HealthCard("Edges of the space hit", "none by the whole front", "good")


def _no_gain(spec: StudySpec, trials: Sequence[Trial]) -> Iterator[HealthCard]:
    if reference_of(trials) is None:
        return
    gained = {change.metric for change in smallest_changes(spec, trials)}
    missed = [label(o.metric) for o in spec.objectives if o.metric not in gained]
    if missed:
        yield HealthCard("Never better than the reference", ", ".join(missed), "warn")
    else:
        yield HealthCard("Better than the reference", "in every objective", "good")
