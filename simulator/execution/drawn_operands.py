"""Operands of an execution: random where they are not given."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from math import log2, prod

import numpy as np
import numpy.typing as npt

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.grid.number_types import dtype_of
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.formulas.reference import MOST_POINTS, reference_values
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.values.large_values import MANY_VALUES, draw_many
from tilewright.simulator.lowering.number_operations import NUMPY

AnyArray = npt.NDArray[np.generic]


class WrongResult(TilewrightError):  # noqa: N818 - says what was found
    """Say that an executed program computed another result than the Einsum: a fault of Tilewright.

    Raised when the output of a run differs from numpy by more than rounding allows, or when counts
    of the run differ from the predicted ones. Such a run never gets a score.
    """


def random_operands(einsum: Einsum, seed: int, given: Collection[str] = ()) -> dict[str, AnyArray]:
    """Return values for every input tensor of an Einsum that is not given, by name.

    Floats are standard normal (in large tensors quantiles of it), integers from -8 to 8. The shape
    of an array is that of the tensor's ranks. The same seed and name give the same values.
    """
    tensors = dict.fromkeys(access.values_of for access in einsum.inputs)
    return {
        tensor: _drawn(einsum, tensor, seed, operand_shape(einsum, tensor))
        for tensor in tensors
        if tensor not in given
    }


def _drawn(einsum: Einsum, tensor: str, seed: int, shape: tuple[int, ...]) -> AnyArray:
    access = next(access for access in einsum.inputs if access.values_of == tensor)
    dtype, is_integer = NUMPY[dtype_of(access, einsum)], access.integer
    if not is_integer and prod(shape) >= MANY_VALUES:
        return draw_many(shape, dtype, zlib.crc32(f"{seed} {tensor}".encode()))
    stream = np.random.default_rng([seed, zlib.crc32(tensor.encode())])
    values: AnyArray = (
        stream.integers(-8, 9, shape)
        if is_integer
        else stream.standard_normal(shape, dtype=np.float32)
    )
    return values.astype(dtype, copy=False)


def workload_operands(
    workload: Workload, seed: int, given: Mapping[str, AnyArray]
) -> dict[str, AnyArray]:
    """Return values for every tensor that a workload reads, computes nowhere, and is not given.

    An array is as large as the largest part that any Einsum reads. Values of f16 are smaller where
    several Einsums add up products one after the other, so that results stay in its range. If numpy
    gives `nan` for a logarithm or root of these random values, their magnitudes are returned
    instead.
    """
    operands = {}
    readers = _readers(workload, given)
    weights = _weights(workload, readers)
    for tensor, einsums in readers.items():
        shapes = [operand_shape(einsum, tensor) for einsum in einsums]
        drawn = _drawn(einsums[0], tensor, seed, tuple(map(max, *shapes, shapes[0])))
        if tensor in weights:
            drawn = drawn.astype(np.float16) * np.float16(weights[tensor])
        operands[tensor] = drawn
    if not has_values(workload, {**operands, **given}):
        return {tensor: magnitudes(values) for tensor, values in operands.items()}
    return operands


def magnitudes(values: AnyArray) -> AnyArray:
    """Return the magnitudes of values; of floats, at least the least normal number.

    Logarithms of the machine take normal numbers (`FunctionSteps.log`).
    """
    positive = np.abs(values)
    return np.asarray(np.maximum(positive, _least_normal(values))).astype(values.dtype)


def has_subnormal(tensors: Mapping[str, AnyArray]) -> bool:
    """Return whether a tensor of floats has a value that is no normal number, and not 0."""
    return any(
        bool(((np.abs(v).astype(np.float64) < _least_normal(v)) & (v != 0)).any())
        for v in tensors.values()
    )


def _least_normal(values: AnyArray) -> float:
    """Return the least positive normal number of the type of some values, 0 for integers."""
    if not np.issubdtype(values.dtype, np.floating):
        return 0.0
    return float(np.finfo(values.dtype).smallest_normal)  # type: ignore[type-var]


def _readers(workload: Workload, given: Collection[str]) -> dict[str, list[Einsum]]:
    """Return the Einsums that read each tensor that is neither given nor computed."""
    computed = {access.tensor for einsum in workload.einsums for access in einsum.outputs}
    readers: dict[str, list[Einsum]] = {}
    for einsum in workload.einsums:
        for access in einsum.inputs:
            if access.values_of not in computed | set(given):
                readers.setdefault(access.values_of, []).append(einsum)
    return readers


def _weights(workload: Workload, drawn: Collection[str]) -> dict[str, float]:
    """Return factors for drawn tensors of f16, so that sums of products are about as large as one.

    Of n products of standard normal numbers the sum is about sqrt(n) large; a power of two near its
    inverse, which rounds nothing, makes up for it. The last drawn input of each Einsum has it.
    Example: 4 layers of 1,024 products each would give 32**4, beyond the 65,504 of f16; with a
    factor of 1/32 for the weights of each layer they give 1. A single Einsum has no factor.
    """
    weights: dict[str, float] = {}
    for einsum in workload.einsums if len(workload.einsums) > 1 else ():
        inputs = [access.values_of for access in einsum.inputs if access.values_of in drawn]
        written = einsum.outputs[0].rank_variables
        summed = prod(size for name, size in einsum.bounds.items() if name not in written)
        adds_products = einsum.formula is None and einsum.combine == "*"
        if inputs and adds_products and dtype_of(einsum.outputs[0], einsum) == "f16":
            weights.setdefault(inputs[-1], 2.0 ** -round(log2(summed) / 2))
    return weights


def has_values(workload: Workload, tensors: Mapping[str, AnyArray]) -> bool:
    """Return False if numpy gives `nan` for something that a workload computes.

    `tensors`: its inputs by name. Only logarithms and roots of small workloads are looked at.
    """
    formulas = [einsum.formula.text for einsum in workload.einsums if einsum.formula is not None]
    if not any("log(" in text or "sqrt(" in text for text in formulas):
        return True
    if max(einsum.operations for einsum in workload.einsums) > MOST_POINTS:
        return True  # not known, for it would take too long
    with np.errstate(all="ignore"):
        values = reference_values(workload, {n: v.astype(np.float64) for n, v in tensors.items()})
    return not any(np.isnan(array).any() for array in values.values())


def operand_shape(einsum: Einsum, tensor: str) -> tuple[int, ...]:
    """Return the shape that an input tensor needs: by rank, the positions that an Einsum uses.

    Positions count from 0 to the last one used. A rank with padding has only the positions of its
    values, since an index behind them reads zeros.
    """
    shapes = [a.array_shape(einsum.bounds) for a in einsum.inputs if a.values_of == tensor]
    return tuple(map(max, *shapes, shapes[0]))


def with_zeros(values: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Pad an array with zeros at the end of its axes, so that it has at least a shape."""
    missing = [(0, max(0, used - size)) for size, used in zip(values.shape, shape, strict=True)]
    return np.pad(values, missing) if any(after for _, after in missing) else values
