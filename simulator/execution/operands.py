"""Operands of an execution, and the comparison of its result with numpy.

The bound of the error holds for any order of the additions (Higham, Accuracy and Stability of
Numerical Algorithms, §3.1 and §3.4).
"""

from __future__ import annotations

import ast
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from tilewright.simulator.lowering.elementary import ROUNDINGS
from tilewright.simulator.lowering.number_operations import NUMPY

Floats = npt.NDArray[np.float64]
AnyArray = npt.NDArray[np.generic]
ROUNDOFF = {"f32": 2.0**-24, "f16": 2.0**-11}
SMALLEST = {"f32": 2.0**-126, "f16": 2.0**-14}
"""The smallest normal numbers: below them rounding is not relative."""
SLACK = 1 + 2.0**-10
"""Covers the products of roundings that the bound of each step leaves out."""


class WrongResult(TilewrightError):  # noqa: N818 - says what was found
    """Say that an executed program computed another result than the Einsum: a fault of Tilewright.

    Raised when the output of a run differs from numpy by more than rounding allows, or when counts
    of the run differ from the predicted ones. Such a run never gets a score.
    """


def random_operands(einsum: Einsum, seed: int) -> dict[str, AnyArray]:
    """Return values for every input tensor of an Einsum, by name.

    Floats are standard normal, integers from -8 to 8. The shape of an array is that of the tensor's
    ranks. The same seed and name give the same values.
    """
    operands: dict[str, AnyArray] = {}
    numbers = number_types(einsum)
    for access in einsum.inputs:
        stream = np.random.default_rng([seed, zlib.crc32(access.tensor.encode())])
        shape = operand_shape(einsum, access.tensor)
        values: AnyArray = (
            stream.integers(-8, 9, shape)
            if numbers.is_integer
            else stream.standard_normal(shape, dtype=np.float32)
        )
        operands[access.tensor] = values.astype(NUMPY[numbers.inputs])
    return operands


def operand_shape(einsum: Einsum, tensor: str) -> tuple[int, ...]:
    """Return the positions of each rank of a tensor that an Einsum uses, from 0 on.

    Those of a padded rank end with its values: behind them an index reads zeros.
    """
    access = einsum.access(tensor)
    sizes = dict(access.padded)
    return tuple(
        sizes[rank] if rank in sizes else max(1, 1 + form.ends(einsum.bounds)[1])
        for rank, form in access.projection
    )


def with_zeros(values: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Return an array with zeros behind its values, so that it has at least a shape: padding."""
    missing = [(0, max(0, used - size)) for size, used in zip(values.shape, shape, strict=True)]
    return np.pad(values, missing) if any(after for _, after in missing) else values


@dataclass(frozen=True, slots=True)
class _Rounded:
    """Exact values of an expression, and by how much a computation may differ from them."""

    value: Floats
    error: Floats


def compare(einsum: Einsum, operands: Mapping[str, AnyArray], output: Floats) -> float:
    """Compare an output with numpy; return its greatest error as a share of the rounding bound.

    `operands`, `output`: whole tensors. numpy computes floats in float64; integers in their own
    type, where an error is none at all. Returns a number from 0 to 1. Raises WrongResult if an
    error is above its bound or not a number.
    """
    numbers = number_types(einsum)
    if numbers.is_integer:
        exact = np.asarray(einsum_values(einsum, operands)).astype(np.float64)
        allowed = np.zeros_like(exact)
    else:
        exact, allowed = _bounded(einsum, operands, numbers.output)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(output == exact, 0.0, np.abs(output - exact) / allowed)
    worst = float(np.max(share)) if share.size else 0.0
    if not worst <= 1:
        place = np.unravel_index(int(np.argmax(np.nan_to_num(share, nan=np.inf))), share.shape)
        raise WrongResult(
            f"the run of {einsum.name} gives {output[place]!r} at {tuple(map(int, place))}, "
            f"numpy gives {exact[place]!r}: please report this"
        )
    return worst


def _bounded(einsum: Einsum, operands: Mapping[str, AnyArray], dtype: str) -> tuple[Floats, Floats]:
    """Return the exact output and the greatest error that rounding allows at each place."""
    unit, tiny = ROUNDOFF[dtype], SMALLEST[dtype]
    values = {name: array.astype(np.float64) for name, array in operands.items()}
    if _is_plain_product(einsum):
        exact = _by_einsum(einsum, values)
        scale = _by_einsum(einsum, {name: np.abs(array) for name, array in values.items()})
        steps = _summed(einsum) + len(einsum.inputs)
        return exact, SLACK * (steps * unit / (1 - steps * unit)) * scale + steps * tiny
    read = [_Rounded(array, np.zeros_like(array)) for array in read_values(einsum, values)]
    with np.errstate(divide="ignore", invalid="ignore"):
        point = _evaluated(expression(einsum), read, unit)
    exact = joined_values(einsum, point.value)
    if joins_by_max(einsum):
        return exact, SLACK * np.abs(joined_values(einsum, point.error)) + tiny
    steps = _summed(einsum)
    scale = joined_values(einsum, np.abs(point.value) + point.error, by_sum=True)
    errors = joined_values(einsum, point.error, by_sum=True)
    gamma = steps * unit / (1 - steps * unit)
    return exact, SLACK * (errors + gamma * scale) + (steps + 4) * tiny


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
