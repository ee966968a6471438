"""What a study needs from a model: one design in, one outcome out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from tilewright.arch.errors import TilewrightError, lacks_memory
from tilewright.dse.study.design_space import Point
from tilewright.mapper.searches.limits.watch import Interruption
from tilewright.mapper.searches.search_errors import MemoryUsedUp
from tilewright.mapper.searches.shared.hit_counts import (
    EINSUMS,
    EXECUTIONS,
    SEARCHES,
    SIMULATIONS,
    STRUCTURES,
)

if TYPE_CHECKING:
    from tilewright.arch.compiled import Kernel

Status = Literal["feasible", "infeasible", "excluded", "failed", "error"]
"""`excluded`: not executed, as an executed design beats its lower bounds; `failed`: not evaluated
for want of time, memory or a worker; `error`: the model failed on the design although nothing in
the files is wrong (a defect)."""
FIDELITY = "fidelity"
"""Beside the knobs of a design: `bound` asks a model for lower bounds of its metrics alone, `check`
whether it finds without a search that the design cannot be built."""
DETAILED = "detailed"
"""Beside the knobs of a design: asks a model that leaves out details for them, too."""
Proof = Literal["optimal", "bounded"]
_LONGEST_REASON = 4000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a model says of one design: its metrics in SI units, or why it cannot be built.

    `metrics`: value by name; `reason`: text, None for a feasible design; `status`: feasible,
    infeasible, failed (no time, memory or worker) or error (the model itself failed). `details`:
    what the report shows (loop nest, breakdowns, heat maps, timeline) as plain JSON values, in the
    form of dse/report/details.py. `verified`: the mapping is proven to compute the workload and to
    fit; None if nothing is proven. `proof`, `gap`: what the search proved of it, and its relative
    distance to the lower bound. `mappings`: metrics of the mappings on the design's own front in
    `front_metrics`; `breakdown`: energy (J), latency (s) and area (m²) by component, cycles by
    state of an element or by what binds, bits of a memory by buffer. Latencies of components pass
    side by side; the parts of the others add up.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    status: Status = "feasible"
    verified: bool | None = None
    proof: Proof | None = None
    gap: float | None = None
    mappings: Sequence[Mapping[str, float]] = ()
    breakdown: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    front_metrics: Sequence[str] = ()


class Evaluator(Protocol):
    """A model that scores designs of a study.

    Instances are pickled and sent to the worker processes, so they hold paths of files, not data.
    """

    def evaluate(self, point: Point) -> Outcome:
        """Return the outcome of one design; `point` maps the path of each knob to its value.

        Raises a TilewrightError if the design cannot be built.
        """
        ...


def kernels_of(evaluator: Evaluator) -> Sequence[Kernel]:
    """Return the compiled functions that a model's designs may call; none if it does not tell."""
    kernels: Sequence[Kernel] = getattr(evaluator, "kernels", tuple)()
    return kernels


def parts_of(einsum: str, parts: Mapping[str, float]) -> dict[str, float]:
    """Return parts of a metric by names with their Einsum: `H.DRAM`; without one as they are."""
    return {f"{einsum}.{name}" if einsum else name: value for name, value in parts.items()}


def asking_for_bounds(point: Point) -> Point:
    """Return a design with a mark that asks a model for lower bounds of its metrics only.

    The model then executes nothing.
    """
    return {**point, FIDELITY: "bound"}


def asking_for_check(point: Point) -> Point:
    """Return a design with a mark that asks a model whether it cannot be built, before a search.

    The model then raises a TilewrightError that says why, or gives an outcome without metrics. Only
    a model with a true `has_check` is asked.
    """
    return {**point, FIDELITY: "check"}


def is_check(point: Point) -> bool:
    """Return whether a design is to be checked only."""
    return point.get(FIDELITY) == "check"


def has_check(evaluator: Evaluator) -> bool:
    """Return whether a model may say that a design cannot be built before it evaluates it."""
    return bool(getattr(evaluator, "has_check", False))


def asking_for_details(evaluator: Evaluator, point: Point) -> Point:
    """Return a design with a mark that asks a model for its report details, too.

    The mark is only set for a model with a true `leaves_out_details`; for others `point` is
    returned as it is.
    """
    return {**point, DETAILED: True} if getattr(evaluator, "leaves_out_details", False) else point


class Sharing(NamedTuple):
    """How much of the work on some designs was done once for several of them.

    `repeated`: trials that repeat a design; `known`: designs whose outcome was known from
    elsewhere. `structures`: compiled templates that searches asked for; `shared_structures`: those
    of them that earlier designs of the same process had left. `executions`: designs to be executed
    on the machine; `shared_executions`: those of which mappings, cycles and counts were known from
    other designs, of this run or an earlier one. `einsums`, `simulations`: of the other designs,
    Einsums to be bounded and candidates to be simulated; `shared_...`: those that were known.
    `searches`: designs that one search answers with others like them, of each workload;
    `shared_searches`: those for which an earlier design had made it.
    """

    repeated: int = 0
    known: int = 0
    structures: int = 0
    shared_structures: int = 0
    executions: int = 0
    shared_executions: int = 0
    einsums: int = 0
    shared_einsums: int = 0
    simulations: int = 0
    shared_simulations: int = 0
    searches: int = 0
    shared_searches: int = 0


NOTHING_SHARED = Sharing()


def total_of(several: Iterable[Sharing]) -> Sharing:
    """Return the sums of what was shared in several batches."""
    return Sharing(*map(sum, zip(NOTHING_SHARED, *several, strict=True)))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One evaluation of a design.

    `outcome`: its result; `seconds`: of wall-clock time that it took; `sharing`: work that others
    had done.
    """

    outcome: Outcome
    seconds: float
    sharing: Sharing = NOTHING_SHARED


def attempt(evaluator: Evaluator, point: Point) -> Attempt:
    """Evaluate one design and return its outcome with the seconds; errors become outcomes.

    A TilewrightError gives the status infeasible, lack of memory or time failed, any other
    exception (a defect, also one that would end the process) error; a metric that is infinite or
    NaN gives infeasible. KeyboardInterrupt passes, and so does the end of a limit.
    """
    start, before = time.perf_counter(), _hits()
    try:
        outcome = _checked(evaluator.evaluate(point))
    except (KeyboardInterrupt, Interruption):
        raise
    except (MemoryUsedUp, MemoryError) as error:  # says nothing about the design
        outcome = _failed(error)
    except TilewrightError as error:
        outcome = Outcome(reason=_words(error), status="infeasible")
    except BaseException as error:  # a defect of a model must not cost the user a night of trials
        outcome = _failed(error) if lacks_memory(error) else _defect(error)
    hits = (after - former for after, former in zip(_hits(), before, strict=True))
    return Attempt(outcome, time.perf_counter() - start, Sharing(0, 0, *hits))


def _hits() -> tuple[int, ...]:
    counts = (STRUCTURES, EXECUTIONS, EINSUMS, SIMULATIONS, SEARCHES)
    return tuple(number for count in counts for number in (count.asked, count.shared))


def _checked(outcome: Outcome) -> Outcome:
    if not is_plain_json(dict(outcome.details)):
        outcome = replace(outcome, details={})  # the report shows none
    if outcome.reason is not None:
        status: Status = "infeasible" if outcome.status == "feasible" else outcome.status
        return Outcome(
            reason=_plain(str(outcome.reason)), details=outcome.details, status=status
        )  # fmt: skip
    metrics = {str(name): _number(value) for name, value in outcome.metrics.items()}
    strange = [name for name, value in metrics.items() if not math.isfinite(value)]
    if strange:
        return Outcome(reason=f"the metric {_plain(strange[0])} is not finite", status="infeasible")
    return replace(outcome, metrics=metrics)


def is_plain_json(details: object) -> bool:
    """Return whether a value can be stored as JSON text: plain, finite, and without surrogates."""
    import json

    try:
        json.dumps(details, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _number(value: object) -> float:
    """Return a metric as a float; NaN for what is no number, or too large a one."""
    try:
        return float(value)  # type: ignore[arg-type]  # any other type raises here
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _failed(error: BaseException) -> Outcome:
    reason = "out of memory: the evaluation needs more than the system gives to this process"
    return Outcome(
        reason=_words(error) if isinstance(error, MemoryUsedUp) else reason, status="failed"
    )


def _words(error: BaseException) -> str:
    try:
        return _plain(str(error))
    except BaseException:  # an error of the user's own whose text fails, or would end the process
        return type(error).__name__


def _plain(text: str) -> str:
    """Return a text that any file can hold: lone surrogates are spelt out, a long one is cut."""
    return text[:_LONGEST_REASON].encode("utf-8", "backslashreplace").decode("utf-8")


def _defect(error: BaseException) -> Outcome:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
    reason = f"internal error: {type(error).__name__}: {_words(error)} ({_plain(place)})"
    return Outcome(reason=reason, status="error")


Note = Callable[[int, int], None]
"""Is told how many evaluations of how many are done."""
Keep = Callable[[int, Attempt], None]
"""Is given the attempt on the design at a position, as soon as it is there."""


class Pool(Protocol):
    """Something that evaluates designs: this process or several worker processes."""

    def evaluate(
        self, points: Sequence[Point], note: Note, keep: Keep | None = None
    ) -> list[Attempt]:
        """Evaluate all designs; return their outcomes in the order of the designs.

        `note(done, count)` and `keep(position, attempt)` are called after each. Raises WorkerLost
        if worker processes cannot be used at all.
        """
        ...


class WorkerLost(TilewrightError):  # noqa: N818 (an event, named as such)
    """No worker process can be used: even an empty task ends it.

    The batch of designs was not written to the run; a resume evaluates it again.
    """

    exit_code = 4
    category = "environment"
