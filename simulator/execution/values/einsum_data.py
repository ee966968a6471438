"""What numpy computes from the operands of an Einsum, and by how much a run may differ from it.

The bound of the error holds for any order of the additions (Higham, Accuracy and Stability of
Numerical Algorithms, §3.1 and §3.4).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import expm1, inf, log1p
from typing import Final, NamedTuple

import numpy as np

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.grid.number_types import NumberTypes, dtype_of, in_elements, number_types
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.formulas.expression import expression, joins_by_max
from tilewright.mapper.workload.formulas.reference import einsum_values, joined_values, read_values
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.drawn_operands import (
    AnyArray,
    WrongResult,
    has_subnormal,
    has_values,
    magnitudes,
    random_operands,
)
from tilewright.simulator.execution.values.exact_products import Floats, product_and_scale
from tilewright.simulator.lowering.elementary import ROUNDINGS
from tilewright.simulator.lowering.number_operations import NUMPY

ROUNDOFF = {"f32": 2.0**-24, "f16": 2.0**-11}
SMALLEST = {"f32": 2.0**-126, "f16": 2.0**-14}
"""The smallest normal numbers: below them rounding is not relative."""
LARGEST = {"f32": (2 - 2.0**-23) * 2.0**127, "f16": 65504.0}
"""The largest numbers: beyond them a result may be infinite."""
MUCH: Final = 0.5
"""Roundings times their size from which on the bound for any order of additions says little."""
SLACK = 1 + 2.0**-10
"""Covers the products of roundings that the bound of each step leaves out."""


@dataclass(frozen=True, eq=False)
class EinsumData:
    """The operands of an Einsum and its result, each computed once for all runs that compare.

    `einsum`: the Einsum; `given`: whole input tensors by name, the others are random; `seed`: of
    the random ones. `errors`: by given input, how far its values in the machine may be from these,
    in its shape; none if it is missing. `grid`: what computes it, whose elements may have f32 for
    the sums of an output of f16; None if they have the widths of the Einsum.
    """

    einsum: Einsum
    given: Mapping[str, AnyArray] = field(default_factory=dict)
    seed: int = 0
    errors: Mapping[str, Floats] = field(default_factory=dict)
    grid: Grid | None = None

    @cached_property
    def numbers(self) -> NumberTypes:
        """The number types in the elements."""
        grid = self.grid
        return number_types(self.einsum if grid is None else in_elements(self.einsum, grid))

    @property
    def dtype(self) -> str:
        """The number type of the output where it leaves the elements."""
        return dtype_of(self.einsum.outputs[0], self.einsum)

    @cached_property
    def operands(self) -> Mapping[str, AnyArray]:
        """Whole input tensors by name; those that are not given are random.

        If numpy gives `nan` for a logarithm or root of the random values, their magnitudes are
        taken.
        """
        drawn = random_operands(self.einsum, self.seed, self.given)
        if not has_values(Workload((self.einsum,), {}), {**drawn, **self.given}):
            drawn = {name: magnitudes(values) for name, values in drawn.items()}
        return {**drawn, **self.given}

    @cached_property
    def _result(self) -> _EinsumResult:
        """The exact output, and the greatest error that rounding allows at each place.

        numpy computes floats in float64; integers without any error, in the type in which the
        elements compute.
        """
        numbers = self.numbers
        if not numbers.is_integer:
            result = _bounded(self.einsum, self.operands, numbers, self.errors)
            return result if numbers.output == self.dtype else _rounded(result, self.dtype)
        wide = {n: v.astype(NUMPY[numbers.computed]) for n, v in self.operands.items()}
        exact = np.asarray(einsum_values(self.einsum, wide)).astype(NUMPY[numbers.output])
        exact = exact.astype(np.float64)
        return _EinsumResult(exact, lambda _: np.zeros_like(exact))

    @property
    def value(self) -> Floats:
        """The exact output: numpy's in float64, or in the type of integers."""
        return self._result.value

    def error(self, additions: int | None = None) -> Floats:
        """Return by how much each value of the output may differ from `value` in a run.

        `additions`: the most additions that one value went through, None if not known.
        """
        return self._result.error(additions)

    def compare(self, output: Floats, additions: int | None = None) -> Comparison:
        """Compare an output with the exact one, value by value.

        `output`: the whole tensor; it must be `nan` exactly where numpy's result is, and may be
        infinite where numpy's, in float64, is beyond the number type. Of operands with errors it
        may be `nan`, or anything where there is no bound: a divisor may be 0 by its error.
        `additions`:
        the most additions that one value went through in the run, None if not known; the bound then
        takes all of the sum. Raises WrongResult if an error is above its bound, TilewrightError
        where the formula has no value.
        """
        exact, allowed = self._result.value, self._result.error(additions)
        equal = (output == exact) | (np.isnan(output) & np.isnan(exact))
        if self.errors:
            equal |= ~np.isfinite(allowed) | np.isnan(output)
        with np.errstate(invalid="ignore", divide="ignore"):
            is_beyond = np.abs(exact) + allowed > LARGEST.get(self.dtype, inf)
            equal |= is_beyond & (output == np.copysign(np.inf, exact))
            difference = np.where(equal, 0.0, np.abs(output - exact))
            share = np.where(equal, 0.0, difference / allowed)
        worst = _most(share)
        if worst <= 1:
            allowed = np.where(np.isnan(allowed), np.inf, allowed)
            return Comparison(_most(difference), _most(np.abs(exact)), _most(allowed), worst)
        place = np.unravel_index(int(np.argmax(np.nan_to_num(share, nan=np.inf))), share.shape)
        shown = tuple(map(int, place))
        raise self._fault(shown, output[shown], exact[shown], allowed[shown])

    @property
    def _takes_logarithms(self) -> bool:
        return self.einsum.formula is not None and "log(" in self.einsum.formula.text

    def _fault(
        self, place: tuple[int, ...], given: float, exact: float, allowed: float
    ) -> TilewrightError:
        """Return what is wrong with the value that a run has `given` at a place.

        `exact`: numpy's; `allowed`: by how much it may differ.
        """
        name, largest = self.einsum.name, LARGEST.get(self.dtype, inf)
        if np.isnan(exact):
            return TilewrightError(
                f"{name} has no value at {place} for these operands: numpy gives nan there, the "
                f"machine {given}",
                instead="operands of which its logarithms and roots exist",
            )
        if not np.isfinite(given) and allowed / ROUNDOFF[self.dtype] > largest:
            return TilewrightError(
                f"sums of {name} go beyond {largest:g}, the largest {self.dtype}, for these "
                f"operands: the machine gives {given} at {place}, numpy {exact:g}",
                instead="operands of smaller values, or bits_per_value: 32",
            )
        if self._takes_logarithms and has_subnormal(self.operands):
            return TilewrightError(
                f"the run of {name} gives {given} at {place}, numpy gives {exact}: some operands "
                "are subnormal numbers, of which the machine has no logarithms",
                instead="operands of larger magnitude, or bits_per_value: 32",
            )
        return WrongResult(
            f"the run of {name} gives {given} at {place}, numpy gives {exact}: please report this"
        )


class Comparison(NamedTuple):
    """How far an output is from the exact one, where there is a bound.

    `difference`: the largest; `largest`: magnitude of a value; `bound`: the largest difference that
    rounding allows; `share`: the largest one of a difference in its own bound, 0 to 1.
    """

    difference: float
    largest: float
    bound: float
    share: float


def _most(values: Floats) -> float:
    return float(np.max(values)) if values.size else 0.0


@dataclass(frozen=True, slots=True)
class _EinsumResult:
    """The exact output, and by how much a computation may differ from it.

    `value`: the output. `error`: function from the number of additions that a value goes through
    (None: not known) to the greatest differences, in the shape of the output.
    """

    value: Floats
    error: Callable[[int | None], Floats]


@dataclass(frozen=True, slots=True)
class _Rounded:
    """Exact values, and by how much a computation may differ from them."""

    value: Floats
    error: Floats


def _bounded_products(
    einsum: Einsum,
    operands: Mapping[str, AnyArray],
    unit: float,
    tiny: float,
    errors: Mapping[str, Floats],
) -> _EinsumResult:
    """Return the exact sums of products of an Einsum, and how far rounding may move them.

    unit, tiny: the roundoff and the smallest number of the output's type.
    """
    exact, scale = product_and_scale(einsum, operands)
    before: Floats | float = 0.0
    if errors:
        larger = {n: np.abs(v) + errors.get(n, 0.0) for n, v in operands.items()}
        whole = product_and_scale(einsum, larger)[1]
        before, scale = whole - scale, whole

    def error(additions: int | None) -> Floats:
        steps = _steps(einsum, additions, unit) + len(einsum.inputs)
        return SLACK * (before + _growth(steps, unit) * scale) + steps * tiny

    return _EinsumResult(exact, error)


def _bounded(
    einsum: Einsum,
    operands: Mapping[str, AnyArray],
    numbers: NumberTypes,
    errors: Mapping[str, Floats],
) -> _EinsumResult:
    """Return the exact output of an Einsum and, value by value, how far rounding may move it.

    numbers: number types in the elements. errors: of operands, where they have any.
    """
    unit, tiny = ROUNDOFF[numbers.output], SMALLEST[numbers.output]
    if _is_sum_of_products(einsum):
        return _bounded_products(einsum, operands, unit, tiny, errors)
    values = {name: array.astype(np.float64) for name, array in operands.items()}
    wrong = {name: errors.get(name, np.zeros_like(array)) for name, array in values.items()}
    read = list(map(_Rounded, read_values(einsum, values), read_values(einsum, wrong)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        point = _evaluated(expression(einsum), read, unit)
    exact = joined_values(einsum, point.value)
    if joins_by_max(einsum):
        rounded = unit * np.abs(exact) if numbers.computed != numbers.output else 0.0
        largest = SLACK * (np.abs(joined_values(einsum, point.error)) + rounded) + tiny
        return _EinsumResult(exact, lambda _: largest)
    scale = joined_values(einsum, np.abs(point.value) + point.error, by_sum=True)
    summed = joined_values(einsum, point.error, by_sum=True)

    def sum_error(additions: int | None) -> Floats:
        steps = _steps(einsum, additions, unit)
        return SLACK * (summed + _growth(steps, unit) * scale) + (steps + 4) * tiny

    return _EinsumResult(exact, sum_error)


def _rounded(result: _EinsumResult, dtype: str) -> _EinsumResult:
    """Return a result with the error of rounding it once more, to a number type."""
    once = ROUNDOFF[dtype] * np.abs(result.value) + SMALLEST[dtype]
    return _EinsumResult(
        result.value, lambda additions: once + (1 + ROUNDOFF[dtype]) * result.error(additions)
    )


def _steps(einsum: Einsum, additions: int | None, unit: float) -> int:
    """Return the most additions that a value of the output goes through, for the rounding bound.

    All terms of the sum count if the bound then still says much; else the additions of the run,
    which adds up parts.
    """
    summed = _summed(einsum)
    return summed if additions is None or summed * unit < MUCH else min(summed, additions)


def _growth(steps: int, unit: float) -> float:
    """Return a bound of the relative error of a sum: so many roundings, each by `unit` at most.

    It is relative to the sum of magnitudes. Example: 10 roundings with unit 1e-7 give about 1e-6.
    """
    return steps * unit / (1 - steps * unit) if steps * unit < MUCH else expm1(steps * log1p(unit))


def _summed(einsum: Einsum) -> int:
    kept = einsum.outputs[0].rank_variables
    return int(np.prod([bound for name, bound in einsum.bounds.items() if name not in kept]))


def _is_sum_of_products(einsum: Einsum) -> bool:
    return einsum.formula is None and einsum.combine == "*" and not joins_by_max(einsum)


def _evaluated(node: ast.expr, read: list[_Rounded], unit: float) -> _Rounded:
    """Return a formula's exact values, with the error of computing each step in a short format."""
    match node:
        case ast.Name(id=name):
            return read[int(name.removeprefix("_"))]
        case ast.Constant(value=int() | float() as number):
            return _Rounded(np.asarray(float(number)), np.asarray(abs(float(number)) * unit))
        case ast.UnaryOp(operand=operand):
            inner = _evaluated(operand, read, unit)
            return _Rounded(-inner.value, inner.error)
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = (_evaluated(side, read, unit) for side in (left, right))
            return _step(type(operator), first, second, unit)
        case ast.Call(func=ast.Name(id="max"), args=[left, right]):
            first, second = (_evaluated(side, read, unit) for side in (left, right))
            value = np.maximum(first.value, second.value)
            return _Rounded(value, np.maximum(first.error, second.error))
        case ast.Call(func=ast.Name(id=function), args=[operand]):
            return _function(function, _evaluated(operand, read, unit), unit)
    raise AssertionError(ast.dump(node))


def _step(operator: type, first: _Rounded, second: _Rounded, unit: float) -> _Rounded:
    a, b = first.value, second.value
    if operator is ast.Add or operator is ast.Sub:
        value = a + b if operator is ast.Add else a - b
        error = first.error + second.error
    elif operator is ast.Mult:
        value = a * b
        error = np.abs(a) * second.error + np.abs(b) * first.error + first.error * second.error
    else:
        value = a / b
        smallest = np.maximum(np.abs(b) - second.error, 0)
        error = (first.error + np.abs(value) * second.error) / smallest
    return _Rounded(value, error + unit * (np.abs(value) + error))


def _function(name: str, inner: _Rounded, unit: float) -> _Rounded:
    if name == "relu":
        return _Rounded(np.maximum(inner.value, 0), inner.error)
    if name == "square":
        return _step(ast.Mult, inner, inner, unit)
    if name == "sqrt":
        value = np.sqrt(inner.value)
        error = np.where(inner.error > 0, inner.error / value, 0.0)
        return _Rounded(value, error + unit * (value + error))
    value = _VALUES[name](inner.value)
    if name == "exp":  # relative
        grown = np.expm1(inner.error)
        return _Rounded(value, value * (grown + (1 + grown) * ROUNDINGS * unit))
    error = 2 * inner.error
    if name == "log":  # of a number that may be smaller by its error
        share = inner.error / np.abs(inner.value)
        error = np.where(share < 1, -np.log1p(-share), np.inf)
    return _Rounded(value, error + ROUNDINGS * unit * (1 + np.abs(value) + error))


def _sigmoid(values: Floats) -> Floats:
    from scipy.special import expit  # 0.2 s, which most workloads do not need

    result: Floats = expit(values)
    return result


_VALUES: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "exp": np.exp,
    "log": np.log,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
}
