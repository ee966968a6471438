"""What a study needs from a model: one design in, one outcome out."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tilewright.arch.errors import TilewrightError
from tilewright.dse.study.design_space import Point
from tilewright.mapper.searches.search_errors import MemoryUsedUp

Status = Literal["feasible", "infeasible", "error"]
"""`error`: the model failed on the design although nothing in the files is wrong (a defect)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Metrics of a design in SI units, or the reason why it cannot be built.

    `details` is what the report shows of a design (loop nest, breakdowns, heat maps, timeline):
    plain JSON values, in the form described in dse/report/details.py.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    status: Status = "feasible"


class Evaluator(Protocol):
    """A model that scores designs. Instances are pickled to the workers: hold paths, not data."""

    def evaluate(self, point: Point) -> Outcome:
        """Score one design; raise a TilewrightError if it cannot be built."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """An outcome and the seconds it took."""

    outcome: Outcome
    seconds: float


def attempt(evaluator: Evaluator, point: Point) -> Attempt:
    """Evaluate one design and turn what goes wrong into an outcome; never raise."""
    start = time.perf_counter()
    try:
        outcome = _checked(evaluator.evaluate(point))
    except MemoryUsedUp as error:  # says nothing about the design
        outcome = Outcome(reason=str(error), status="error")
    except TilewrightError as error:
        outcome = Outcome(reason=str(error), status="infeasible")
    except Exception as error:  # a defect of a model must not cost the user a night of trials
        outcome = Outcome(reason=_defect(error), status="error")
    return Attempt(outcome, time.perf_counter() - start)


def _checked(outcome: Outcome) -> Outcome:
    if outcome.reason is not None:
        status: Status = "error" if outcome.status == "error" else "infeasible"
        return Outcome(reason=outcome.reason, details=outcome.details, status=status)
    strange = [name for name, value in outcome.metrics.items() if not math.isfinite(value)]
    if strange:
        return Outcome(reason=f"the metric {strange[0]} is not finite", status="infeasible")
    return outcome


def _defect(error: Exception) -> str:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
    return f"internal error: {type(error).__name__}: {error} ({place})"
