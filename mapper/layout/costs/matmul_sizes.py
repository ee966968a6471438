"""The sizes of an Einsum that is a product of two matrices."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping


class MatmulSizes(NamedTuple):
    """m × k by k × n, and the names of the two operands and of the result."""

    m: int
    k: int
    n: int
    first: str
    second: str
    result: str


def matmul_sizes(einsum: Einsum) -> MatmulSizes:
    """Return the sizes of `Z[m, n] = A[m, k] * B[k, n]`; several rank variables of a kind multiply.

    Raises InfeasibleMapping for an Einsum of another form, with what it is that a product of two
    matrices has not.
    """
    _check_form(einsum)
    first, second = einsum.inputs
    (result,) = einsum.outputs
    kinds = {name: _kind(name, first, second, result) for name in einsum.bounds}
    strange = [name for name, kind in kinds.items() if not kind]
    if strange:
        raise _other(einsum, f"{strange[0]} is in all three tensors, or in one only")
    sizes = {"m": 1, "k": 1, "n": 1}
    for name, kind in kinds.items():
        sizes[kind] *= einsum.bounds[name]
    return MatmulSizes(**sizes, first=first.tensor, second=second.tensor, result=result.tensor)


def _check_form(einsum: Einsum) -> None:
    """Raise InfeasibleMapping unless an Einsum multiplies two tensors, with plain indices."""
    if len(einsum.inputs) != 2 or len(einsum.outputs) != 1 or einsum.combine != "*":
        raise _other(einsum, "it does not multiply two tensors into one")
    for access in einsum.accesses:
        if not all(access.is_plain(name) for name in access.rank_variables):
            raise _other(einsum, f"an index of {access.tensor} is not a rank variable alone")


def _kind(name: str, first: TensorAccess, second: TensorAccess, result: TensorAccess) -> str:
    where = "".join(
        letter
        for letter, access in (("1", first), ("2", second), ("z", result))
        if name in access.rank_variables
    )
    return {"1z": "m", "12": "k", "2z": "n"}.get(where, "")


def _other(einsum: Einsum, why: str) -> InfeasibleMapping:
    return InfeasibleMapping(
        f"{einsum.name} is no product of two matrices: {why}", instead="Z[m, n] = A[m, k] * B[k, n]"
    )
