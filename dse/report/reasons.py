"""Why designs are no answers, grouped: the same sentence with other numbers is one reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.arch.quantities import label, quantity
from tilewright.dse.run.record import Trial

_BULLET = "  - "
_MOST_LISTED = 3  # constraints that conflict
_PLACE = re.compile(r" \([^()\s]*:\d+(?::\d+)?\)")  # of a line in a file
_NUMBER = re.compile(r"(?<![A-Za-z_])\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Designs that are no answers for the same reason, apart from the numbers in it.

    `pattern`: the reason with `#` for numbers; `example`: the reason of the first; `status`:
    infeasible, violates or error; `numbers`: of the trials.
    """

    pattern: str
    example: str
    status: str
    numbers: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of trials in the group."""
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

    A design that was tried several times counts once.
    """
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.status == "feasible" or trial.same_as is not None:
            continue
        text = reason_of(trial)
        pattern = text if trial.status == "violates" else _NUMBER.sub("#", text)
        groups.setdefault((trial.status, pattern), []).append(trial)
    grouped = [
        ReasonGroup(pattern, reason_of(members[0]), status, tuple(t.number for t in members))
        for (status, pattern), members in groups.items()
    ]
    return sorted(grouped, key=lambda group: (-group.count, group.pattern))
