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
    """What a model says of one design: its metrics in SI units, or why it cannot be built.

    `metrics`: value by name; `reason`: text, None for a feasible design; `status`: feasible,
    infeasible, or error (the model itself failed). `details`: what the report shows (loop nest,
    breakdowns, heat maps, timeline) as plain JSON values, in the form of dse/report/details.py.
    `verified`: the mapping is proven to compute the workload and to fit; None if nothing is proven.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    status: Status = "feasible"
    verified: bool | None = None


class Evaluator(Protocol):
    """A model that scores designs of a study.

    Instances are pickled and sent to the worker processes, so they hold paths of files, not data.
    """

    def evaluate(self, point: Point) -> Outcome:
        """Return the outcome of one design; `point` maps the path of each knob to its value.

        Raises a TilewrightError if the design cannot be built.
        """
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one evaluation and the wall-clock seconds that it took."""

    outcome: Outcome
    seconds: float


def attempt(evaluator: Evaluator, point: Point) -> Attempt:
    """Evaluate one design and return its outcome with the seconds; errors become outcomes.

    A TilewrightError gives the status infeasible, any other exception (a defect) or lack of memory
    the status error; a metric that is infinite or NaN gives infeasible. KeyboardInterrupt passes.
    """
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
