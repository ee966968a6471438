"""Objectives written as expressions of energy, latency, edp and memory usage.

The text is evaluated once by the evaluator of the files (arch/expressions/expressions.py), with
symbols for the metrics. Every operation of a symbol either is known not to fall when a metric
grows, and not to be negative, or is refused. So what is accepted never falls, whatever the numbers:
the property that dominance and bounds rest on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from tilewright.arch.errors import ExpressionError
from tilewright.arch.expressions.expressions import UnknownNameError, compile_expression
from tilewright.arch.expressions.operators import Algebra, EvaluationError, describe, is_number
from tilewright.mapper.searches.exact.kernels import Floats

_ALLOWED = (
    "+, *, max(), min(), sqrt(), log1p(), exp(), ** and / by a positive number, of energy, latency,"
    " edp, usage.MEMORY and numbers that are not negative"
)
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sqrt": np.sqrt,
    "log1p": np.log1p,
    "exp": np.exp,
    "ceil": np.ceil,
    "floor": np.floor,
}
_LOGARITHMS = ("log", "log2", "log10")

Columns = Mapping[str, Any]  # numbers or arrays by the name of a metric
Code = Callable[[Columns], Any]


class ObjectiveError(ExpressionError):
    """An objective that is no expression, or that could fall where a metric grows.

    A search needs objectives that never fall when energy, latency or usage grows. The text says
    what is wrong and what to write instead.
    """


_MOST_POWER = 16  # 1e-12 to a higher one is no longer a number


@dataclass(frozen=True, slots=True)
class ObjectiveFormula:
    """An objective written as a formula, which never falls when a metric grows.

    `text`: as written, for example "energy * latency ** 2"; metrics are energy (J), latency (s),
    edp (J s) and usage.MEMORY (bits). `memories`: those whose usage it depends on. `code`:
    computes it from the metrics by name.
    """

    text: str
    memories: tuple[str, ...]
    code: Code

    def value(self, rows: Floats) -> Floats:
        """Return the value of the formula for many mappings, shape (rows,).

        `rows`: (energy in J, latency in s, bits used of each of `memories`). NaN becomes infinity.
        """
        usage = {_usage(memory): rows[:, 2 + i] for i, memory in enumerate(self.memories)}
        return np.asarray(self._of(rows[:, 0], rows[:, 1], usage))

    def of_costs(self, energy: Any, latency: Any) -> Any:
        """Return the value of a formula without usage from energy (J) and latency (s), fast.

        Both are numbers or both are arrays of one shape; so is the result.
        """
        return self._of(energy, latency, {})

    def function_of_usage(self, memories: Sequence[str]) -> Callable[..., Any]:
        """Return the formula as a function of energy (J), latency (s), and bits used.

        The bits follow one by one in the order of `memories`, which must name all that it depends
        on.
        """
        names = [_usage(memory) for memory in memories]

        def value(energy: Any, latency: Any, *bits: Any) -> Any:
            return self._of(energy, latency, dict(zip(names, bits, strict=True)))

        return value

    def _of(self, energy: Any, latency: Any, usage: Columns) -> Any:
        columns = {"energy": energy, "latency": latency, **usage}
        with np.errstate(all="ignore"):  # too large a number is inf, and inf is no optimum
            values = np.asarray(self.code(columns), np.float64)
        values = np.where(np.isnan(values), math.inf, values)
        return np.broadcast_to(values, np.shape(energy)) if np.ndim(energy) else float(values)

    def of_row(self, energy: float, latency: float, *bits: float) -> float:
        """Return its value for one mapping: energy in J, latency in s, bits of each memory."""
        return float(self.value(np.array([[energy, latency, *bits]]))[0])


def formula_of(text: str, memories: Iterable[str]) -> ObjectiveFormula:
    """Parse an objective such as "energy + 2 * latency" or "max(edp, usage.Buffer)".

    `memories`: the names that may stand behind `usage.`. Raises ObjectiveError, which says what to
    write instead, for no expression, an unknown name, no metric, or a formula that could fall
    where a metric grows.
    """
    memory_names = list(memories)
    result = _evaluated(text, memory_names)
    if not isinstance(result, MonotoneQuantity) or not result.uses:
        raise ObjectiveError("the objective depends on no metric", value=text, instead=_ALLOWED)
    return ObjectiveFormula(
        text, tuple(n for n in memory_names if _usage(n) in result.uses), result.code
    )


def _evaluated(text: str, memory_names: Iterable[str]) -> object:
    """Evaluate the text with a symbol for each metric; the result is a quantity or a number.

    Raises ObjectiveError.
    """
    energy, latency = _symbol("energy"), _symbol("latency")
    names: dict[str, object] = {"energy": energy, "latency": latency, "edp": energy * latency}
    names["usage"] = {name: _symbol(_usage(name)) for name in memory_names}
    try:
        return compile_expression(text)(names)
    except UnknownNameError as error:
        instead = error.instead if "mean" in (error.instead or "") else ", ".join(names)
        raise ObjectiveError(
            f"unknown objective: {error.what}", value=text, instead=instead
        ) from None
    except ExpressionError as error:
        complaint = f"the objective cannot be used: {error.what}"
        raise ObjectiveError(complaint, value=text, instead=error.instead or _ALLOWED) from None


def _usage(memory: str) -> str:
    return f"usage.{memory}"


@dataclass(frozen=True, slots=True, eq=False)
class MonotoneQuantity(Algebra):
    """A quantity that is never negative and never falls when a metric that it `uses` grows.

    Arithmetic with it builds a formula; operations that could break that, such as minus or
    division by a metric, raise EvaluationError. `uses`: names of metrics; `code`: computes it from
    metrics by name.
    """

    uses: frozenset[str]
    code: Code

    described_as: ClassVar[str] = "a metric"

    def __add__(self, operand: object) -> MonotoneQuantity:
        return _combined(np.add, self, _rising(operand, "+"))

    __radd__ = __add__

    def __mul__(self, operand: object) -> MonotoneQuantity:
        return _combined(np.multiply, self, _rising(operand, "*"))

    __rmul__ = __mul__

    def __truediv__(self, operand: object) -> MonotoneQuantity:
        if isinstance(operand, MonotoneQuantity):
            _refuse_falling("dividing by a metric makes the objective fall where that metric grows")
        return self * (1 / _positive(operand, "/"))

    def __rtruediv__(self, operand: object) -> NoReturn:
        del operand
        _refuse_falling("dividing by a metric makes the objective fall where that metric grows")

    def __sub__(self, operand: object) -> MonotoneQuantity:
        if isinstance(operand, MonotoneQuantity):
            _refuse_falling("subtracting a metric makes the objective fall where that metric grows")
        number = _number(operand, "-")
        if number > 0:
            _refuse_falling(
                "subtracting a number may make the objective negative; it changes no order"
            )
        return self + -number

    def __rsub__(self, operand: object) -> NoReturn:
        del operand
        _refuse_falling("subtracting a metric makes the objective fall where that metric grows")

    def __neg__(self) -> NoReturn:
        _refuse_falling("minus a metric falls where that metric grows: an objective is minimized")

    def __pos__(self) -> MonotoneQuantity:
        return self

    def __abs__(self) -> MonotoneQuantity:
        return self

    def maximum(self, other: object) -> MonotoneQuantity:
        """Return the larger of this and another quantity or non-negative number."""
        return _combined(np.maximum, self, _rising(other, "max()"))

    def minimum(self, other: object) -> MonotoneQuantity:
        """Return the smaller of this and another quantity or non-negative number."""
        return _combined(np.minimum, self, _rising(other, "min()"))

    def power(self, exponent: object) -> MonotoneQuantity:
        """Return the quantity to a power.

        EvaluationError for an exponent not above 0, or too large.
        """
        by = _positive(exponent, "**")
        if by > _MOST_POWER:
            raise EvaluationError(f"an exponent is at most {_MOST_POWER}")
        code = self.code
        return MonotoneQuantity(self.uses, lambda columns: np.power(code(columns), by))

    def function(self, name: str) -> MonotoneQuantity:
        """Return a function such as sqrt or exp of the quantity, by its name.

        Raises EvaluationError for logarithms other than log1p, which may be negative, and for
        unknown functions.
        """
        if name in _LOGARITHMS:
            raise EvaluationError(
                f"{name}() may be negative",
                "log1p(...), or the product that it is the logarithm of",
            )
        if name in ("abs", "fabs", "float"):
            return self
        if name not in _FUNCTIONS:
            raise EvaluationError(f"{name}() does not apply to a metric", _ALLOWED)
        apply, code = _FUNCTIONS[name], self.code
        return MonotoneQuantity(self.uses, lambda columns: apply(code(columns)))

    def _refuse(self, *_: object) -> Any:
        _refuse_falling("comparisons, //, % and conditions may fall where a metric grows")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __bool__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __and__ = __or__ = __xor__ = __invert__ = _refuse
    __hash__ = None  # type: ignore[assignment]


def _symbol(name: str) -> MonotoneQuantity:
    return MonotoneQuantity(frozenset((name,)), lambda columns: columns[name])


def _combined(
    apply: Callable[[Any, Any], Any], first: MonotoneQuantity, second: MonotoneQuantity
) -> MonotoneQuantity:
    first_code, second_code = first.code, second.code
    return MonotoneQuantity(
        first.uses | second.uses, lambda columns: apply(first_code(columns), second_code(columns))
    )


def _rising(value: object, symbol: str) -> MonotoneQuantity:
    if isinstance(value, MonotoneQuantity):
        return value
    number = _number(value, symbol)
    if number < 0:
        _refuse_falling(f"{symbol} with the negative number {number:g}")
    return MonotoneQuantity(frozenset(), lambda columns: number)  # noqa: ARG005


def _positive(value: object, symbol: str) -> float:
    number = _number(value, symbol)
    if number <= 0:
        _refuse_falling(f"{symbol} with {number:g}, which is not positive")
    return number


def _number(value: object, symbol: str) -> float:
    if not is_number(value) or isinstance(value, bool):
        raise EvaluationError(f"{symbol} does not apply to {describe(value)} here", _ALLOWED)
    number = float(value)  # type: ignore[arg-type]  # a number
    if not math.isfinite(number):
        raise EvaluationError(f"{symbol} with {number}: only finite numbers", _ALLOWED)
    return number


def _refuse_falling(complaint: str) -> NoReturn:
    raise EvaluationError(complaint, _ALLOWED)
