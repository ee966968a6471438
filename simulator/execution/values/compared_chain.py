"""Results of Einsums compared with numpy's of all of them in turn, from their inputs alone.

An Einsum's exact result and its greatest error are operands of the next one, whose error has both
parts (theory/grid.md §8): those of its own rounding, and those of its operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tilewright.simulator.execution.drawn_operands import AnyArray, operand_shape, with_zeros
from tilewright.simulator.execution.values.einsum_data import Comparison, EinsumData
from tilewright.simulator.execution.values.exact_products import Floats
from tilewright.simulator.lowering.number_operations import NUMPY
from tilewright.simulator.lowering.plan import Plan


class _Tensor(NamedTuple):
    """A tensor as numpy computes it, and by how much the machine's may differ."""

    values: AnyArray
    error: Floats

    def read(self, shape: tuple[int, ...]) -> _Tensor:
        """Return what an Einsum reads: a part of some shape, with zeros behind it."""
        part = tuple(slice(used) for used in shape)
        values, error = (with_zeros(array, shape)[part] for array in self)
        return _Tensor(values, error.astype(np.float64, copy=False))


def compared_chain(
    plans: Sequence[Plan], inputs: Mapping[str, AnyArray], results: Mapping[str, AnyArray]
) -> dict[str, Comparison]:
    """Compare results of Einsums with numpy's of all in turn; return by name how far they are.

    `plans`: of the Einsums, in the order in which they need each other; `inputs`: tensors that none
    of them computes, as the machine had them; `results`: those to compare. Raises what
    `EinsumData.compare` raises.
    """
    tensors = {n: _Tensor(v, np.broadcast_to(0.0, v.shape)) for n, v in inputs.items()}
    last = {name: plan for plan in plans for name in read_by(plan)}
    compared: dict[str, Comparison] = {}
    for plan in plans:
        data, name = _data(plan, tensors), plan.read.output.name
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            if name in results:
                output = np.asarray(results[name], dtype=np.float64)
                compared[name] = data.compare(output, plan.additions)
            tensors[name] = _computed(plan, data)
        for tensor in [name for name in tensors if last.get(name) is plan]:
            del tensors[tensor]
    return compared


def _computed(plan: Plan, data: EinsumData) -> _Tensor:
    error = data.error(plan.additions)
    if plan.read.numbers.is_integer:
        return _Tensor(data.value.astype(NUMPY[plan.read.result_dtype]), error)
    return _Tensor(data.value, np.where(np.isfinite(error), error, np.inf))


def _data(plan: Plan, tensors: Mapping[str, _Tensor]) -> EinsumData:
    """Return the operands of an Einsum, with the errors of those that have any."""
    einsum = plan.read.workload_einsum
    read = {name: tensors[name].read(operand_shape(einsum, name)) for name in read_by(plan)}
    errors = {name: tensor.error for name, tensor in read.items() if tensor.error.any()}
    values = {name: tensor.values for name, tensor in read.items()}
    return EinsumData(einsum, values, errors=errors, grid=plan.read.grid)


def read_by(plan: Plan) -> tuple[str, ...]:
    """Return the names of the tensors that an Einsum reads, each once."""
    return tuple(dict.fromkeys(tensor.access.values_of for tensor in plan.read.inputs))


def in_turn(plans: Sequence[Plan]) -> Iterator[Plan]:
    """Yield plans of Einsums in an order in which each one's operands are computed before."""
    left = list(plans)
    while left:
        written = {plan.read.output.name for plan in left}
        ready = next(plan for plan in left if not written.intersection(read_by(plan)))
        left = [plan for plan in left if plan is not ready]
        yield ready
