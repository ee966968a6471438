"""A trial made of what the evaluation of its design gave, and what its sampler is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.arch.errors import SpecError
from tilewright.dse.models.evaluator import Outcome
from tilewright.dse.run.figures import is_plain_name, names_of, value_of
from tilewright.dse.run.record import NO_VALUE, Trial, TrialStatus
from tilewright.dse.study.design_space import Value
from tilewright.dse.study.sampler import Proposal, Result
from tilewright.dse.study.study import StudySpec


@dataclass(frozen=True, slots=True)
class TrialSlot:
    """The place of a trial in its run, before anything is known of its design.

    `number`: from 0; `batch`, `batch_size`: number of its batch, and how many trials that has;
    `key`: of the evaluation; `point`: value of each knob; `proposal`: what the sampler asked for;
    `baseline`: name, of a baseline; `refused`: designs that it drew before, with the reasons.
    """

    number: int
    batch: int
    batch_size: int
    key: str
    point: dict[str, Value]
    proposal: Proposal
    baseline: str | None
    refused: Sequence[Mapping[str, Any]] = ()

    def evaluated(
        self, outcome: Outcome, spec: StudySpec, base: Mapping[str, float] | None
    ) -> Trial:
        """Return the trial with the outcome of its design, judged by the limits of the study.

        `base`: metrics of the reference design. A design for which an expression of the study has
        no value is infeasible. Raises SpecError if an objective is no metric of the model, or if
        the reference design leaves an expression without a value.
        """
        trial = Trial(
            number=self.number,
            batch=self.batch,
            batch_size=self.batch_size,
            key=self.key,
            point=self.point,
            status=outcome.status,
            baseline=self.baseline,
            reason=outcome.reason,
            verified=outcome.verified,
            proof=outcome.proof,
            gap=outcome.gap,
            mappings=outcome.mappings,
            breakdown=outcome.breakdown,
            sampler=self.proposal.notes,
            refused=self.refused,
        )
        if outcome.status not in ("feasible", "excluded"):
            return trial
        if self.number == 0 and spec.baselines and outcome.status == "feasible":
            base = outcome.metrics  # it is the reference itself
        _check_objectives(outcome.metrics, spec)
        try:
            metrics = _with_objectives(outcome.metrics, spec, base)
            excess = excess_of(metrics, spec, base) if outcome.status == "feasible" else {}
        except SpecError as error:
            _check_reference(error, spec, is_known=base is not None and self.number > 0)
            return replace(trial, status="infeasible", reason=f"{NO_VALUE}: {error.what}")
        violations = {limit: over for limit, over in excess.items() if over > 0}
        status: TrialStatus = "violates" if violations else outcome.status
        return replace(trial, status=status, metrics=metrics, violations=violations)

    def repeated(self, original: Trial) -> Trial:
        """Return the trial as a copy of an earlier one of the same design."""
        return replace(
            original,
            number=self.number,
            batch=self.batch,
            batch_size=self.batch_size,
            baseline=self.baseline,
            same_as=original.number,
            sampler=self.proposal.notes,
            refused=self.refused,
        )


def result_of(trial: Trial, spec: StudySpec, base: Mapping[str, float] | None = None) -> Result:
    """Return what the sampler is told of a trial: its objectives and by how much it is over limits.

    `base`: metrics of the reference design. A trial that cannot be built or failed has no
    objectives (None).
    """
    choice = spec.space.choice(trial.point)
    if not trial.metrics:
        return Result(None, {}, {}, choice)
    return Result(
        tuple(trial.metrics[objective.metric] for objective in spec.objectives),
        excess_of(trial.metrics, spec, base),
        trial.breakdown,
        choice,
    )


def excess_of(
    metrics: Mapping[str, float], spec: StudySpec, base: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return by how much each constraint of the study is exceeded, in the unit of its sides.

    `base`: metrics of the reference design. Keys are texts like `area <= 0.0006`; 0 or less means
    that it holds. Raises SpecError if a side has no value.
    """
    names = names_of(metrics, base)
    return {constraint.text: constraint.excess(names) for constraint in spec.constraints}


def base_of(spec: StudySpec, trials: Sequence[Trial]) -> Mapping[str, float] | None:
    """Return the metrics of the reference design among trials; None if it has none yet.

    The reference is the first baseline of the study.
    """
    return trials[0].metrics or None if trials and spec.baselines else None


def _check_reference(error: SpecError, spec: StudySpec, *, is_known: bool) -> None:
    """Raise SpecError that blames the reference design if its values are not known.

    It does so only if expressions use them. `error`: what was wrong with an expression; is_known:
    whether a design other than the reference had the reference's metrics.
    """
    if spec.uses_base and not is_known:
        raise SpecError(
            f"the reference design leaves an objective or limit without a value: {error.what}",
            instead="another first baseline, or expression",
        ) from None


def _check_objectives(metrics: Mapping[str, float], spec: StudySpec) -> None:
    """Refuse an objective that the model of a study does not give."""
    for objective in spec.objectives:
        name = objective.metric
        if name not in metrics and is_plain_name(name) and "." not in name:
            raise SpecError(
                f"the {spec.model} model gives no metric `{name}`",
                instead=f"one of {', '.join(sorted(metrics))}",
            )


def _with_objectives(
    metrics: Mapping[str, float], spec: StudySpec, base: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the metrics of a design by name, with the objectives that are expressions."""
    names = names_of(metrics, base)
    values = {name: metrics[name] for name in sorted(metrics) if is_plain_name(name)}
    for objective in spec.objectives:
        if objective.metric not in values:
            values[objective.metric] = value_of(objective.metric, names)
    return values
