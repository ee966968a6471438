"""Why designs are no answers, grouped: the same sentence with other numbers is one reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.arch.quantities import label, quantity
from tilewright.dse.run.record import Trial, refused_alone
from tilewright.dse.study.design_space import canonical_json

_BULLET = "  - "
_MOST_LISTED = 3  # constraints that conflict
_PLACE = re.compile(r" \([^()\s]*:\d+(?::\d+)?\)")  # of a line in a file
_NUMBER = re.compile(r"(?<![A-Za-z_])\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Designs that are no answers for the same reason, apart from the numbers in it.

    `pattern`: the reason with `#` for numbers; `example`: the reason of the first; `status`:
    infeasible, violates or error, or refused for designs that were not tried; `numbers`: of the
    trials, or of those that another design was drawn for.
    """

    pattern: str
    example: str
    status: str
    numbers: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of designs in the group."""
        return len(self.numbers)


def reason_of(trial: Trial) -> str:
    """Return why a trial is no answer, in one line; empty if it is feasible.

    Constraints that conflict are named, without their places in the files.
    """
    if trial.status == "violates":
        return "beyond the limit " + ", ".join(limit_text(limit) for limit in trial.violations)
    if trial.reason is None:
        return ""
    first, *rest = trial.reason.splitlines()
    listed = [_PLACE.sub("", line[len(_BULLET) :]) for line in rest if line.startswith(_BULLET)]
    if not first.endswith(":") or not listed:
        return first
    more = f"; and {len(listed) - _MOST_LISTED} more" if len(listed) > _MOST_LISTED else ""
    return f"{first} {'; '.join(listed[:_MOST_LISTED])}{more}"


def limit_text(limit: str) -> str:
    """Return a limit of a metric as text for people.

    `area <= 0.0006`, as a trial's violations name it in SI units, becomes `area ≤ 600 mm²`; sides
    that are expressions stay as written.
    """
    sign = "<=" if "<=" in limit else ">="
    metric, _, bound = (part.strip() for part in limit.partition(sign))
    shown = "≤" if sign == "<=" else "≥"
    try:
        return f"{label(metric)} {shown} {quantity(float(bound), metric)}"
    except ValueError:
        return f"{label(metric)} {shown} {bound}"


def group_reasons(trials: Sequence[Trial]) -> list[ReasonGroup]:
    """Group the designs that are no answers by reason, the most frequent reason first.

    A design that was tried, or refused before, several times counts once.
    """
    groups: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for status, text, number in (*_tried(trials), *_refused(trials)):
        pattern = text if status == "violates" else _NUMBER.sub("#", text)
        groups.setdefault((status, pattern), []).append((text, number))
    grouped = [
        ReasonGroup(pattern, members[0][0], status, tuple(number for _, number in members))
        for (status, pattern), members in groups.items()
    ]
    return sorted(grouped, key=lambda group: (-group.count, group.pattern))


def _tried(trials: Sequence[Trial]) -> Iterator[tuple[str, str, int]]:
    """Yield status, reason and number of the trials without an answer."""
    for trial in trials:
        if trial.status != "feasible" and trial.same_as is None:
            yield trial.status, reason_of(trial), trial.number


def _refused(trials: Sequence[Trial]) -> Iterator[tuple[str, str, int]]:
    """Yield the reason of each design that was refused before it was tried.

    With the number of the trial that another design was drawn for.
    """
    left = refused_alone(trials)
    for trial in trials if left else ():
        for each in trial.refused:
            if left.pop(canonical_json(each["point"]), None) is not None:
                yield "refused", str(each["reason"]).splitlines()[0], trial.number
