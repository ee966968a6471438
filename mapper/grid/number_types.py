"""The number types of an Einsum's values in the elements of a grid."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.formulas.expression import joins_by_max

DTYPES = {(32, False): "f32", (16, False): "f16", (32, True): "i32", (16, True): "i16"}
"""Number type by bits per value, and whether values are integers."""


@dataclass(frozen=True, slots=True)
class NumberTypes:
    """The type of all inputs and that of the output: f32, f16, i32 or i16."""

    inputs: str
    output: str

    @property
    def widens(self) -> bool:
        """Whether f16 values are multiplied and added up in f32."""
        return self.inputs != self.output

    @property
    def is_integer(self) -> bool:
        """Whether values are integers, which wrap around at their width."""
        return self.output in ("i32", "i16")


def number_types(einsum: Einsum) -> NumberTypes:
    """Return the number types of an Einsum.

    Raises InfeasibleMapping for other types than these: all alike, or inputs of f16 and an output
    of f32.
    """
    inputs = {dtype_of(access, einsum) for access in einsum.inputs}
    output = dtype_of(einsum.outputs[0], einsum)
    if (len(inputs) == 1 and inputs <= {output}) or (inputs, output) == ({"f16"}, "f32"):
        return NumberTypes(inputs.pop(), output)
    raise InfeasibleMapping(
        f"no program of the elements: {einsum.name} reads {' and '.join(sorted(inputs))} and "
        f"writes {output}",
        instead="one type for all of its tensors, or inputs of f16 (16 bits) with a result of f32 "
        "(32 bits)",
    )


def dtype_of(access: TensorAccess, einsum: Einsum) -> str:
    """Return the number type of a tensor; raises InfeasibleMapping for other widths than 16, 32."""
    key = int(access.bits_per_value), access.integer
    if access.bits_per_value != key[0] or key not in DTYPES:
        raise InfeasibleMapping(
            f"no program of the elements: values of {access.tensor} of {einsum.name} have "
            f"{access.bits_per_value} bits",
            instead="bits_per_value: 16 or 32 (--set BITS=16 for the workloads that are shipped)",
        )
    return DTYPES[key]


def joins_over_elements(einsum: Einsum) -> bool:
    """Tell whether elements can add up partial results on the fabric: floats, and sums of i16."""
    numbers = number_types(einsum)
    return not numbers.is_integer or (numbers.output == "i16" and not joins_by_max(einsum))
