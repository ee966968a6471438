"""What numpy computes from the operands of an Einsum, and by how much a run may differ from it.

The bound of the error holds for any order of the additions (Higham, Accuracy and Stability of
Numerical Algorithms, §3.1 and §3.4).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.grid.number_types import number_types
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.formulas.expression import expression, joins_by_max
from tilewright.mapper.workload.formulas.reference import (
    einsum_values,
    joined_values,
    read_values,
)
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.operands import (
    AnyArray,
    WrongResult,
    has_values,
    random_operands,
)
from tilewright.simulator.lowering.elementary import ROUNDINGS

Floats = npt.NDArray[np.float64]
ROUNDOFF = {"f32": 2.0**-24, "f16": 2.0**-11}
SMALLEST = {"f32": 2.0**-126, "f16": 2.0**-14}
"""The smallest normal numbers: below them rounding is not relative."""
SLACK = 1 + 2.0**-10
"""Covers the products of roundings that the bound of each step leaves out."""


@dataclass(frozen=True, eq=False)
class EinsumData:
    """The operands of an Einsum and its result, each computed once for all runs that compare.

    `given`: whole input tensors by name; the others are random. `seed`: of those.
    """

    einsum: Einsum
    given: Mapping[str, AnyArray] = field(default_factory=dict)
    seed: int = 0

    @cached_property
    def operands(self) -> Mapping[str, AnyArray]:
        """Whole input tensors by name.

        Random values lie where the formula has values.
        """
        drawn = random_operands(self.einsum, self.seed, self.given)
        if not has_values(Workload((self.einsum,), {}), {**drawn, **self.given}):
            drawn = {name: np.abs(values) for name, values in drawn.items()}
        return {**drawn, **self.given}

    @cached_property
    def _result(self) -> _Rounded:
        """The exact output, and the greatest error that rounding allows at each place.

        numpy computes floats in float64; integers in their own type, without any error.
        """
        numbers = number_types(self.einsum)
        if not numbers.is_integer:
            return _bounded(self.einsum, self.operands, numbers.output)
        exact = np.asarray(einsum_values(self.einsum, self.operands)).astype(np.float64)
        return _Rounded(exact, np.zeros_like(exact))

    def compare(self, output: Floats) -> float:
        """Return the greatest error of an output as a share (0 to 1) of what rounding allows.

        `output`: the whole tensor, which has no number exactly where numpy has none. Raises
        WrongResult if an error is above its bound, TilewrightError where the formula has no value.
        """
        exact, allowed = self._result.value, self._result.error
        equal = (output == exact) | (np.isnan(output) & np.isnan(exact))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(equal, 0.0, np.abs(output - exact) / allowed)
        worst = float(np.max(share)) if share.size else 0.0
        if not worst <= 1:
            place = np.unravel_index(int(np.argmax(np.nan_to_num(share, nan=np.inf))), share.shape)
            if np.isnan(exact[place]):
                raise TilewrightError(
                    f"{self.einsum.name} has no value at {tuple(map(int, place))} for these "
                    f"operands: numpy gives nan there, the machine {output[place]}",
                    instead="operands of which its logarithms and roots exist",
                )
            raise WrongResult(
                f"the run of {self.einsum.name} gives {output[place]} at "
                f"{tuple(map(int, place))}, numpy gives {exact[place]}: please report this"
            )
        return worst


@dataclass(frozen=True, slots=True)
class _Rounded:
    """Exact values, and by how much a computation may differ from them."""

    value: Floats
    error: Floats


def _bounded(einsum: Einsum, operands: Mapping[str, AnyArray], dtype: str) -> _Rounded:
    """Return the exact output and the greatest error that rounding allows at each place."""
    unit, tiny = ROUNDOFF[dtype], SMALLEST[dtype]
    values = {name: array.astype(np.float64) for name, array in operands.items()}
    if _is_plain_product(einsum):
        exact = _by_einsum(einsum, values)
        scale = _by_einsum(einsum, {name: np.abs(array) for name, array in values.items()})
        steps = _summed(einsum) + len(einsum.inputs)
        return _Rounded(exact, SLACK * (steps * unit / (1 - steps * unit)) * scale + steps * tiny)
    read = [_Rounded(array, np.zeros_like(array)) for array in read_values(einsum, values)]
    with np.errstate(divide="ignore", invalid="ignore"):
        point = _evaluated(expression(einsum), read, unit)
    exact = joined_values(einsum, point.value)
    if joins_by_max(einsum):
        return _Rounded(exact, SLACK * np.abs(joined_values(einsum, point.error)) + tiny)
    steps = _summed(einsum)
    scale = joined_values(einsum, np.abs(point.value) + point.error, by_sum=True)
    errors = joined_values(einsum, point.error, by_sum=True)
    gamma = steps * unit / (1 - steps * unit)
    return _Rounded(exact, SLACK * (errors + gamma * scale) + (steps + 4) * tiny)


def _summed(einsum: Einsum) -> int:
    kept = einsum.outputs[0].rank_variables
    return int(np.prod([bound for name, bound in einsum.bounds.items() if name not in kept]))


def _is_plain_product(einsum: Einsum) -> bool:
    forms = [form for access in einsum.accesses for _, form in access.projection]
    plain = all(f.is_single and f.terms[0][1] == 1 and not f.constant for f in forms)
    plain = plain and not any(access.padded for access in einsum.accesses)
    return plain and einsum.formula is None and einsum.combine == "*"


def _by_einsum(einsum: Einsum, values: Mapping[str, Floats]) -> Floats:
    letters = {name: chr(ord("a") + number) for number, name in enumerate(einsum.bounds)}
    spell = {
        access.tensor: "".join(letters[form.terms[0][0]] for _, form in access.projection)
        for access in einsum.accesses
    }
    inputs = [access.tensor for access in einsum.inputs]
    output = spell[einsum.outputs[0].tensor]
    if len(set(output)) < len(output) or set(output) - {c for n in inputs for c in spell[n]}:
        return joined_values(einsum, _product(read_values(einsum, values)))
    formula = ",".join(spell[name] for name in inputs) + "->" + output
    arrays = [
        values[name][tuple(slice(einsum.bounds[f.terms[0][0]]) for _, f in
                           einsum.access(name).projection)]
        for name in inputs
    ]  # fmt: skip
    return np.asarray(np.einsum(formula, *arrays, optimize=len(inputs) > 1))


def _product(arrays: list[Floats]) -> Floats:
    product = arrays[0]
    for array in arrays[1:]:
        product = product * array
    return product


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
        return _Rounded(value, value * (np.expm1(inner.error) + ROUNDINGS * unit))
    slope = 1 / np.abs(inner.value) if name == "log" else 1.0
    return _Rounded(value, 2 * inner.error * slope + ROUNDINGS * unit * (1 + np.abs(value)))


_VALUES: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "exp": np.exp,
    "log": np.log,
    "sigmoid": expit,
    "tanh": np.tanh,
}
