"""The values of a workload's tensors, computed with numpy Einsum by Einsum.

Every point of an iteration space is one element of an array: for small workloads, as the reference
of what a mapping has to compute. An index outside a tensor reads 0 (padding).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.formulas.expression import joins_by_max
from tilewright.mapper.workload.workload import Workload

Values = NDArray[np.float64]
Indices = tuple[NDArray[np.int64], ...]
MOST_POINTS = 10**8


def reference_values(workload: Workload, inputs: Mapping[str, Values]) -> dict[str, Values]:
    """Return the values of all tensors, from those that no Einsum writes.

    `inputs`: an array per tensor, its dimensions in the order of the ranks where the tensor stands
    first in the workload. Raises WorkloadError for a missing tensor, and for more than 10**8 points
    in an Einsum.
    """
    tensors = {name: np.asarray(values, dtype=np.float64) for name, values in inputs.items()}
    order: dict[str, tuple[str, ...]] = {}
    for einsum in workload.einsums:
        for access in einsum.accesses:
            order.setdefault(access.values_of, tuple(rank for rank, _ in access.projection))
        if einsum.operations > MOST_POINTS:
            raise WorkloadError(f"Einsum {einsum.name} is too large for a reference")
        for access in einsum.inputs:
            if access.values_of not in tensors:
                raise WorkloadError(f"no values of tensor {access.values_of}", value=einsum.name)
        values = _value(einsum, read_values(einsum, tensors, order))
        for access in einsum.outputs:
            ranks = order[access.tensor]
            tensors[access.tensor] = _joined(einsum, values, _indices(access, einsum, ranks))
    return tensors


def read_values(
    einsum: Einsum,
    tensors: Mapping[str, Values],
    order: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Values]:
    """Return the values of each input at each point, as arrays that broadcast to the space.

    `tensors`: whole tensors by name. `order`: their ranks, where they are not in the order of the
    Einsum.
    """
    arrays = []
    for access in einsum.inputs:
        tensor, ranks = access.values_of, tuple(rank for rank, _ in access.projection)
        if order and set(order[tensor]) == set(ranks):  # else indices are found by their places
            ranks = order[tensor]
        arrays.append(_read(tensors[tensor], _indices(access, einsum, ranks)))
    return arrays


def einsum_values(einsum: Einsum, tensors: Mapping[str, NDArray[np.generic]]) -> Values:
    """Return the one output of an Einsum, computed in the type of its inputs.

    `tensors`: whole tensors by name. Integers wrap around at their width.
    """
    return joined_values(einsum, _value(einsum, read_values(einsum, tensors)))  # type: ignore[arg-type]


def joined_values(einsum: Einsum, values: Values, *, by_sum: bool = False) -> Values:
    """Return the one output of an Einsum from the values of its points.

    `values`: broadcast to the iteration space; points of the same index are joined as the Einsum
    says, or added with `by_sum`.
    """
    access = einsum.outputs[0]
    ranks = tuple(rank for rank, _ in access.projection)
    return _joined(einsum, values, _indices(access, einsum, ranks), by_sum=by_sum)


def _indices(access: TensorAccess, einsum: Einsum, ranks: Sequence[str]) -> Indices:
    """Return each rank's index at each point, as arrays that broadcast to the iteration space."""
    places = list(einsum.bounds)
    forms = dict(access.projection)
    indices = []
    for rank in ranks:
        index = np.full([1] * len(places), forms[rank].constant, dtype=np.int64)
        for name, factor in forms[rank].terms:
            shape = [1] * len(places)
            shape[places.index(name)] = einsum.bounds[name]
            index = index + factor * np.arange(einsum.bounds[name]).reshape(shape)
        indices.append(index)
    return tuple(indices)


def _read(values: Values, indices: Indices) -> Values:
    inside = np.ones((), dtype=bool)
    clipped = []
    for index, size in zip(indices, values.shape, strict=True):
        inside = inside & (index >= 0) & (index < size)
        clipped.append(np.clip(index, 0, size - 1))
    return np.where(inside, values[tuple(clipped)], values.dtype.type(0))


def _value(einsum: Einsum, read: list[Values]) -> Values:
    if einsum.formula is not None:
        return einsum.formula.value(read)
    value = read[0]
    for operand in read[1:]:
        value = value * operand if einsum.combine == "*" else value + operand
    return value


def _joined(einsum: Einsum, values: Values, indices: Indices, *, by_sum: bool = False) -> Values:
    """Return the output: values of points with the same index, joined as the Einsum says.

    `by_sum`: added instead. Positions that no point has are 0.
    """
    values = np.broadcast_to(values, tuple(einsum.bounds.values()))
    is_max = not by_sum and joins_by_max(einsum)
    join = np.maximum if is_max else np.add
    shape = tuple(int(index.max()) + 1 for index in indices)
    axes = _counted_axes(indices)
    if axes is not None:
        others = tuple(axis for axis in range(values.ndim) if axis not in axes)
        kept = join.reduce(values, axis=others, dtype=values.dtype)
        return np.asarray(np.transpose(kept, np.argsort(np.argsort(axes)))).reshape(shape)
    places = tuple(np.broadcast_to(index, values.shape) for index in indices)
    if is_max:
        return _greatest_at(places, values, shape)
    result = np.zeros(shape, dtype=values.dtype)
    np.add.at(result, places, values)
    return result


def _greatest_at(places: Indices, values: Values, shape: tuple[int, ...]) -> Values:
    """Return an array with the greatest of the values at each place, 0 where there is none."""
    least = -np.inf if values.dtype.kind == "f" else np.iinfo(str(values.dtype)).min
    result = np.full(shape, least, dtype=values.dtype)
    np.maximum.at(result, places, values)
    written = np.zeros(shape, dtype=bool)
    written[places] = True
    result[~written] = 0
    return result


def _counted_axes(indices: Indices) -> list[int] | None:
    """Return, per index, the axis of the iteration space along which it counts 0, 1, …

    An index that is 0 everywhere needs none. None if some other index has no axis of its own. With
    axes an output is joined along all other axes.
    """
    axes = []
    for index in indices:
        if index.size == 1 and not index.any():
            continue
        axis = int(np.argmax(index.shape))
        if index.size != index.shape[axis] or (index.ravel() != np.arange(index.size)).any():
            return None
        axes.append(axis)
    return axes if len(set(axes)) == len(axes) else None
