"""Compile `total_latency`: to a maximum of linear functions of the calls if it is one.

The usual rules, sum(a.n_calls / a.throughput for a in actions) and maxima of such sums, are linear
in the numbers of calls. They are recognised by evaluating the expression once with symbols in the
place of the call counts. Then the rule is cheap to call, and a search can read its pieces. Any
other expression is evaluated at each call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tilewright.arch.errors import ExpressionError, SpecError, Where
from tilewright.arch.expressions.expressions import Expression, UnknownNameError, compile_expression
from tilewright.arch.expressions.operators import Algebra, EvaluationError, describe, is_number
from tilewright.arch.flattening.scope import Layer, Names

DEFAULT_LATENCY = "sum(a.n_calls / a.throughput for a in actions)"
NETWORK_LATENCY = (
    "max(max_hops * actions['hop'].latency, max_link_traffic / actions['hop'].throughput)"
)
NETWORK_SYMBOLS = ("max_hops", "max_link_traffic")
_MAX_PIECES = 64

Terms = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class LatencyPiece:
    """A linear function of call counts, in seconds: `constant + sum(seconds * calls[name])`.

    `terms` holds (action, seconds per call); those of 0 seconds are left out.
    """

    terms: Terms
    constant: float = 0.0

    def __call__(self, calls: Mapping[str, float]) -> float:
        total = self.constant
        for name, seconds in self.terms:
            total += seconds * calls.get(name, 0)
        return total


@dataclass(frozen=True, slots=True)
class LinearLatency:
    """The time of a component as the maximum of linear functions of its call counts, in seconds.

    Call it with `calls`: calls of each action by one instance, `actions_scale` included; for a
    Network also `max_hops` and `max_link_traffic` (theory/model.md §7.2).
    """

    pieces: tuple[LatencyPiece, ...]

    def __call__(self, calls: Mapping[str, float]) -> float:
        if len(self.pieces) == 1:
            return float(self.pieces[0](calls))
        return float(max(piece(calls) for piece in self.pieces))


@dataclass(frozen=True, slots=True)
class ExpressionLatency:
    """The time of a component by an expression that is no maximum of linear functions.

    It is evaluated as written at each call, with the call counts. `expression`: of `total_latency`;
    `names`: further values; `actions`: costs of the component's actions; `where`: its place.
    """

    expression: Expression
    names: Names
    actions: tuple[ActionCosts, ...]
    where: Where | None

    def __call__(self, calls: Mapping[str, float]) -> float:
        names = latency_names(self.actions, calls)
        result = self.expression(Layer(names, self.names), self.where)
        if not is_number(result) or isinstance(result, bool) or not _is_time(result):
            raise ExpressionError(
                "total_latency must be a finite number of seconds",
                where=self.where,
                value=self.expression.text,
            )
        return float(result)  # type: ignore[arg-type]  # is_number() looked


@dataclass(frozen=True, slots=True)
class WaitingLatency:
    """The time of a component that depends on the Einsum, in an architecture without one.

    Calling it raises SpecError. `component`: its name; `where`: the place of the expression.
    """

    component: str
    where: Where | None

    def __call__(self, calls: Mapping[str, float]) -> float:  # noqa: ARG002
        raise SpecError(
            f"the latency of {self.component} depends on the Einsum",
            where=self.where,
            instead="flatten the architecture for an Einsum",
        )


@dataclass(frozen=True, slots=True)
class ActionCosts:
    """What a latency expression can read of an action.

    `energy`: J per action; `throughput`: actions per second; `latency`: seconds of one call;
    `bits_per_action`; `energy_scale`, `throughput_scale`: of the action, applied already.
    """

    name: str
    energy: float
    throughput: float
    latency: float
    bits_per_action: object = 1
    energy_scale: float = 1.0
    throughput_scale: float = 1.0


def compile_latency(
    text: str, actions: tuple[ActionCosts, ...], names: Names, where: Where | None
) -> LinearLatency | ExpressionLatency:
    """Compile the text of a `total_latency` into a function from call counts to seconds.

    `actions`: costs of the component's actions; `names`: other values that the text may use. The
    result is a maximum of linear functions where the text is one. Raises ExpressionError, at
    `where`, if it cannot be evaluated with all call counts 1.
    """
    expression = compile_expression(text, where)
    symbols = {name: _symbol(name) for name in (*(a.name for a in actions), *NETWORK_SYMBOLS)}
    try:
        result = expression(Layer(latency_names(actions, symbols), names), where)
    except UnknownNameError:
        raise
    except ExpressionError:
        result = None
    if is_number(result) and not isinstance(result, bool):
        result = _LinearPieces((LatencyPiece((), float(result)),))  # type: ignore[arg-type]
    if isinstance(result, _LinearPieces) and result.is_sound():
        return LinearLatency(result.pieces)
    rule = ExpressionLatency(expression, names, actions, where)
    rule(dict.fromkeys(symbols, 1.0))
    return rule


def latency_names(actions: tuple[ActionCosts, ...], calls: Mapping[str, Any]) -> dict[str, object]:
    """Return the names that a latency expression sees, with these call counts by action.

    Those of both dialects of the file: actions, X_actions, X_latency, action2latency, and for a
    Network max_hops and max_link_traffic (theory/inputs.md §1).
    """
    views = tuple(ActionView(costs, calls.get(costs.name, 0)) for costs in actions)
    times = {view.name: view.n_calls * view.latency for view in views}
    names: dict[str, object] = {"actions": ActionTable(views), "action2latency": times}
    for view in views:
        names[f"{view.name}_actions"] = view.n_calls
        names[f"{view.name}_latency"] = times[view.name]
    for symbol in NETWORK_SYMBOLS:
        if symbol in calls:
            names[symbol] = calls[symbol]
    return names


@dataclass(frozen=True, slots=True)
class ActionView(Algebra):
    """One action as a value of a latency expression.

    `costs`: of the action; `n_calls`: how often one instance performs it.
    """

    costs: ActionCosts
    n_calls: Any

    fields: ClassVar[frozenset[str]] = frozenset(
        {"name", "n_calls", "throughput", "latency", "energy", "bits_per_action"}
        | {"energy_scale", "throughput_scale"}
    )
    described_as: ClassVar[str] = "an action"

    @property
    def name(self) -> str:
        """Name of the action, such as read."""
        return self.costs.name

    @property
    def throughput(self) -> float:
        """Actions per second of one instance of the component, scales included."""
        return self.costs.throughput

    @property
    def latency(self) -> float:
        """Seconds that one action takes, scales included."""
        return self.costs.latency

    @property
    def energy(self) -> float:
        """Joule per action, scales included."""
        return self.costs.energy

    @property
    def bits_per_action(self) -> object:
        """Bits that one action moves, as the file writes it (default 1)."""
        return self.costs.bits_per_action

    @property
    def energy_scale(self) -> float:
        """Factor that the file puts on the action's energy; `energy` already includes it."""
        return self.costs.energy_scale

    @property
    def throughput_scale(self) -> float:
        """Factor that the file puts on the action's throughput; `throughput` includes it."""
        return self.costs.throughput_scale


@dataclass(frozen=True, slots=True)
class ActionTable(Algebra):
    """The value `actions` of a latency expression: a list that can also be indexed by name."""

    views: tuple[ActionView, ...]

    described_as: ClassVar[str] = "the list of actions"

    def elements(self) -> Iterable[ActionView]:
        """Return the component's actions in the order of the file format."""
        return self.views

    def item(self, key: object) -> ActionView:
        """Return the action of a name or position; EvaluationError if there is none."""
        for index, view in enumerate(self.views):
            if key in (view.name, index):
                return view
        names = ", ".join(view.name for view in self.views)
        raise EvaluationError(f"there is no action {key!r}", f"one of: {names}")


@dataclass(frozen=True, slots=True, eq=False)
class _LinearPieces(Algebra):
    """A symbol for a maximum of linear functions of the call counts, as a value of expressions.

    Operations that would give anything else are refused.
    """

    pieces: tuple[LatencyPiece, ...]

    described_as: ClassVar[str] = "a number of calls"

    def is_sound(self) -> bool:
        """Tell whether all constants and all seconds per call are finite numbers."""
        numbers = [p.constant for p in self.pieces]
        numbers += [seconds for piece in self.pieces for _, seconds in piece.terms]
        return all(math.isfinite(number) for number in numbers)

    def __add__(self, other: object) -> _LinearPieces:
        other_pieces = _form(other).pieces
        return _joined(_sum(left, right) for left in self.pieces for right in other_pieces)

    __radd__ = __add__

    def __sub__(self, other: object) -> _LinearPieces:
        if isinstance(other, _LinearPieces):
            return self + other * -1
        return self + _LinearPieces((LatencyPiece((), -_number(other)),))

    def __rsub__(self, other: object) -> _LinearPieces:
        return self * -1 + _form(other)

    def __mul__(self, other: object) -> _LinearPieces:
        factor = _number(other)
        if factor < 0 and len(self.pieces) > 1:
            raise EvaluationError("not a maximum any more")
        return _joined(
            LatencyPiece(
                tuple((name, seconds * factor) for name, seconds in piece.terms),
                piece.constant * factor,
            )
            for piece in self.pieces
        )

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> _LinearPieces:
        divisor = _number(other)
        if divisor == 0:
            raise EvaluationError("a division by 0 has no value")
        return self * (1 / divisor)

    def __pos__(self) -> _LinearPieces:
        return self

    def __neg__(self) -> _LinearPieces:
        return self * -1

    def maximum(self, other: object) -> _LinearPieces:
        return _joined((*self.pieces, *_form(other).pieces))

    def _refuse(self, *_: object) -> Any:
        raise EvaluationError("not linear in the calls")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __rtruediv__ = __bool__ = _refuse
    __and__ = __or__ = __xor__ = __invert__ = _refuse
    __hash__ = None  # type: ignore[assignment]


def _is_time(result: object) -> bool:
    try:
        return math.isfinite(result)  # type: ignore[arg-type]  # is_number() looked
    except OverflowError:
        return False


def _symbol(name: str) -> _LinearPieces:
    return _LinearPieces((LatencyPiece(((name, 1.0),)),))


def _form(value: object) -> _LinearPieces:
    return (
        value
        if isinstance(value, _LinearPieces)
        else _LinearPieces((LatencyPiece((), _number(value)),))
    )


def _number(value: object) -> float:
    if not is_number(value):
        raise EvaluationError(f"{describe(value)} is not a number")
    return float(value)  # type: ignore[arg-type]  # is_number() looked


def _sum(left: LatencyPiece, right: LatencyPiece) -> LatencyPiece:
    terms = dict(left.terms)
    for name, seconds in right.terms:
        terms[name] = terms.get(name, 0.0) + seconds
    return LatencyPiece(tuple(terms.items()), left.constant + right.constant)


def _joined(pieces: Iterable[LatencyPiece]) -> _LinearPieces:
    """Return the maximum of some pieces, without terms of 0 and pieces never above another one.

    EvaluationError if more than _MAX_PIECES are left.
    """
    undominated: list[LatencyPiece] = []
    for piece in pieces:
        clean = LatencyPiece(tuple(t for t in piece.terms if t[1] != 0), piece.constant)
        if any(_dominates(other, clean) for other in undominated):
            continue
        undominated = [other for other in undominated if not _dominates(clean, other)]
        undominated.append(clean)
        if len(undominated) > _MAX_PIECES:
            raise EvaluationError("too many pieces")
    return _LinearPieces(tuple(undominated))


def _dominates(upper: LatencyPiece, lower: LatencyPiece) -> bool:
    """Tell whether `upper` is at least `lower` for all call counts, which are never negative."""
    upper_seconds, lower_seconds = dict(upper.terms), dict(lower.terms)
    return upper.constant >= lower.constant and all(
        upper_seconds.get(name, 0.0) >= lower_seconds.get(name, 0.0)
        for name in {*upper_seconds, *lower_seconds}
    )
