"""Sums of products of an Einsum's operands, as numpy computes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.formulas.reference import joined_values, read_values
from tilewright.simulator.execution.drawn_operands import AnyArray
from tilewright.simulator.execution.values.large_values import MANY_VALUES, widened

Floats = npt.NDArray[np.float64]


BLOCK_VALUES: Final = 1 << 17
"""Values of a large operand that are taken at once: 1 MiB as f64."""


def _is_plain(access: TensorAccess) -> bool:
    """Return whether each rank of an access is indexed by one rank variable as it is."""
    forms = [form for _, form in access.projection]
    return not access.padded and all(
        form.is_single and form.terms[0][1] == 1 and not form.constant for form in forms
    )


def product_and_scale(einsum: Einsum, operands: Mapping[str, AnyArray]) -> tuple[Floats, Floats]:
    """Return the output of a product, and that of the magnitudes of its operands.

    A large operand whose first rank is one of the output is taken in blocks of it, which stay in
    the processor's caches.
    """
    exact, scale = [], []
    plain = all(map(_is_plain, einsum.accesses))
    product = _by_einsum if plain else _by_windows
    for part in _blocks(einsum, operands) if plain else (operands,):
        values = {name: widened(array) for name, array in part.items()}
        exact.append(product(einsum, values))
        scale.append(product(einsum, {name: np.abs(array) for name, array in values.items()}))
    if len(exact) == 1:
        return exact[0], scale[0]
    axis = _names(einsum.outputs[0]).index(_names(_largest(einsum, operands))[0])
    return np.concatenate(exact, axis=axis), np.concatenate(scale, axis=axis)


def _blocks(einsum: Einsum, operands: Mapping[str, AnyArray]) -> Iterator[Mapping[str, AnyArray]]:
    """Yield operands cut along the first rank of the largest one, to stay in caches.

    The output has this rank, too. Small operands, or those that cannot be cut so, are one part.
    """
    largest = _largest(einsum, operands)
    size, names = operands[largest.values_of].size, _names(largest)
    if size < MANY_VALUES or not _may_be_cut(einsum, operands, names):
        yield operands
        return
    bound = einsum.bounds[names[0]]
    rows = max(1, BLOCK_VALUES * bound // size)
    for first in range(0, bound, rows):
        part = slice(first, min(bound, first + rows))
        yield {
            access.tensor: operands[access.tensor][
                tuple(part if name == names[0] else slice(None) for name in _names(access))
            ]
            for access in einsum.inputs
        }


def _may_be_cut(einsum: Einsum, operands: Mapping[str, AnyArray], names: list[str]) -> bool:
    """Return whether operands can be cut along the first of the ranks `names`.

    Not where a tensor is read twice, or an index stands twice in the output.
    """
    output = _names(einsum.outputs[0])
    is_plain = len(set(output)) == len(output) and len(operands) == len(einsum.inputs)
    return is_plain and bool(names) and names[0] in output and names.count(names[0]) == 1


def _largest(einsum: Einsum, operands: Mapping[str, AnyArray]) -> TensorAccess:
    return max(einsum.inputs, key=lambda access: operands[access.values_of].size)


def _names(access: TensorAccess) -> list[str]:
    """Return the rank variables of a plain access, rank by rank."""
    return [form.terms[0][0] for _, form in access.projection]


def _by_einsum(einsum: Einsum, values: Mapping[str, Floats]) -> Floats:
    letters = {name: chr(ord("a") + number) for number, name in enumerate(einsum.bounds)}
    *inputs, output = [
        "".join(letters[form.terms[0][0]] for _, form in access.projection)
        for access in (*einsum.inputs, einsum.outputs[0])
    ]
    if len(set(output)) < len(output) or not set(output) <= set("".join(inputs)):
        return joined_values(einsum, _product(read_values(einsum, values)))
    formula = f"{','.join(inputs)}->{output}"
    arrays = [
        values[access.values_of][tuple(slice(einsum.bounds[name]) for name in _names(access))]
        for access in einsum.inputs
    ]
    return np.asarray(np.einsum(formula, *arrays, optimize=len(inputs) > 1))


def _by_windows(einsum: Einsum, values: Mapping[str, Floats]) -> Floats:
    """Return the output of a product whose operands are read in windows, strides or diagonals.

    Each operand is read at all points of its own rank variables, so that a convolution becomes a
    product of matrices; the points of the whole iteration space are never held at once.
    """
    read = read_values(einsum, values)
    formula = _formula_of_windows(einsum, read)
    if formula is None:
        return joined_values(einsum, _product(read))
    result = np.einsum(formula, *map(np.squeeze, read), optimize=len(read) > 1)
    shape = [einsum.bounds[name] for name in _names(einsum.outputs[0])]
    return np.asarray(result).reshape(shape)


def _formula_of_windows(einsum: Einsum, read: list[Floats]) -> str | None:
    """Return the formula of a product for np.einsum, rank variables of one value left out.

    `read`: the operands at all points of their rank variables. None where the output is indexed by
    other than different rank variables, or one of many values by no operand.
    """
    output = einsum.outputs[0]
    if not _is_plain(output) or len(set(_names(output))) < len(_names(output)):
        return None
    letters = {
        name: chr(ord("a") + number) if bound > 1 else ""
        for number, (name, bound) in enumerate(einsum.bounds.items())
    }
    spelled = [_spelled(einsum, array.shape, letters) for array in read]
    if not set("".join(letters.values())) <= set("".join(spelled)):
        return None
    return ",".join(spelled) + "->" + "".join(letters[name] for name in _names(output))


def _spelled(einsum: Einsum, shape: tuple[int, ...], letters: Mapping[str, str]) -> str:
    """Return the letters of the rank variables along which an operand has several values."""
    along = zip(einsum.bounds, shape, strict=True) if shape else ()  # a scalar has no ranks
    return "".join(letters[name] for name, size in along if size > 1)


def _product(arrays: list[Floats]) -> Floats:
    product = arrays[0]
    for array in arrays[1:]:
        product = product * array
    return product
