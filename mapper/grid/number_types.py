"""The number types of an Einsum's values in the elements of a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from tilewright.arch.memo import IdentityCache
from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.formulas.expression import joins_by_max

DTYPES = {(32, False): "f32", (16, False): "f16", (32, True): "i32", (16, True): "i16"}
"""Number type by bits per value, and whether values are integers."""


@dataclass(frozen=True, slots=True)
class NumberTypes:
    """The type of each input, by tensor, and that of the output: f32, f16, i32 or i16."""

    inputs: Mapping[str, str]
    output: str

    @property
    def computed(self) -> str:
        """The type in which an element computes: that of 32 bits if any tensor has it."""
        types = {*self.inputs.values(), self.output}
        return next((dtype for dtype in ("f32", "i32") if dtype in types), self.output)

    @property
    def converted(self) -> tuple[str, ...]:
        """The inputs of f16 that become f32 first; integers need no instruction to become wider."""
        return tuple(name for name, dtype in self.inputs.items()
                     if dtype == "f16" and self.computed == "f32")  # fmt: skip

    @property
    def is_uniform(self) -> bool:
        """Whether all tensors have one type."""
        return {*self.inputs.values(), self.output} == {self.output}

    @property
    def widens(self) -> bool:
        """Whether values that are all f16 are multiplied and added up in f32."""
        return self.output == "f32" and set(self.inputs.values()) == {"f16"}

    @property
    def is_integer(self) -> bool:
        """Whether values are integers, which wrap around at their width."""
        return self.output in ("i32", "i16")


_TYPES: Final = IdentityCache(64)


def number_types(einsum: Einsum) -> NumberTypes:
    """Return the number types of an Einsum; those of the last ones are kept.

    Raises InfeasibleMapping for other types than these: integers, but for maxima of i32 in i16, or
    floats, but for sums of f32 in f16.
    """
    types: NumberTypes = _TYPES.of(einsum, "types", lambda: _number_types(einsum))
    return types


def _number_types(einsum: Einsum) -> NumberTypes:
    inputs = {access.tensor: dtype_of(access, einsum) for access in einsum.inputs}
    numbers = NumberTypes(inputs, dtype_of(einsum.outputs[0], einsum))
    if numbers.is_uniform:
        return numbers
    read = " and ".join(sorted(set(inputs.values())))
    what = f"no program of the elements: {einsum.name} reads {read} and writes {numbers.output}"
    if len({dtype[0] for dtype in (*inputs.values(), numbers.output)}) > 1:
        raise InfeasibleMapping(what, instead="integers for all of its tensors, or for none")
    summed = set(einsum.bounds) - einsum.outputs[0].rank_variables
    # a maximum of floats is the same before and after rounding, a sum of integers before and after
    # its upper bits are left out
    if summed and (numbers.output, joins_by_max(einsum)) in (("f16", False), ("i16", True)):
        wide, joined = numbers.computed, "maxima" if joins_by_max(einsum) else "sums"
        instead = f"a result of {wide} (32 bits), and an Einsum that copies it to {numbers.output}"
        if not numbers.is_integer:
            name = einsum.outputs[0].tensor
            instead = (
                f"bits_per_value: {{{name}: 32}} in the elements' memory, for sums in f32 that "
                f"become f16 where {name} leaves; or {instead}"
            )
        raise InfeasibleMapping(
            f"{what}, with {joined} over {', '.join(sorted(summed))}", instead=instead
        )
    return numbers


_NARROWED = (Fraction(16), Fraction(32))
"""Bits of a value outside the elements and in their memory, where they may differ."""


def in_elements(einsum: Einsum, grid: Grid) -> Einsum:
    """Return an Einsum with the width that its output has in the elements' memory.

    `grid`: its `memory` may have values of f32 where the workload has f16: partial sums are f32
    then, and the elements make f16 of a finished tile as it leaves. Raises InfeasibleMapping for
    other widths of a component that are not those of the workload.
    """
    output = einsum.outputs[0]
    for component in (grid.host, grid.memory):
        for access in einsum.accesses:
            bits = component.bits_per_value.get(access.tensor, access.bits_per_value)
            if bits == access.bits_per_value:
                continue
            is_sum = access == output and component is grid.memory
            if not (is_sum and not access.integer and (access.bits_per_value, bits) == _NARROWED):
                raise InfeasibleMapping(
                    f"no program of the elements: values of {access.tensor} of {einsum.name} have "
                    f"{access.bits_per_value} bits, but {bits} in {component.name}",
                    instead=f"no bits_per_value of {access.tensor} in {component.name}: only a "
                    f"result of f16 may have 32 bits, in {grid.memory.name} (sums in f32)",
                )
    bits = grid.memory.bits_per_value.get(output.tensor, output.bits_per_value)
    if bits == output.bits_per_value:
        return einsum
    outputs = {output: replace(output, bits_per_value=bits)}
    accesses = tuple(outputs.get(access, access) for access in einsum.accesses)
    return replace(einsum, accesses=accesses)


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


def values_per_wavelet(values: int, dtype: str) -> int:
    """Return how many values a wavelet carries: two of 16 bits if their number is even.

    `values`: that go together, such as those of a tile; `dtype`: their type.
    """
    return 2 if dtype in ("f16", "i16") and values % 2 == 0 else 1


def tile_values_per_wavelet(
    values: int, access: TensorAccess, einsum: Einsum, *, is_added: bool
) -> int:
    """Return how many values of a tile of a tensor go in one wavelet: 1 or 2.

    `values`: of the tile; `is_added`: whether elements add up the output. Maps, which join sums
    where no operation does, take values one by one.
    """
    if access.output and is_added and not joins_in_one_operation(einsum):
        return 1
    return values_per_wavelet(values, dtype_of(access, einsum))


def words_of_values(values: int, dtype: str) -> int:
    """Return in how many wavelets so many values of a type go together."""
    return values // values_per_wavelet(values, dtype)


def joins_in_one_operation(einsum: Einsum) -> bool:
    """Tell whether an operation joins partial results as they come: of floats, and sums of i16."""
    numbers = number_types(einsum)
    return not numbers.is_integer or (numbers.output == "i16" and not joins_by_max(einsum))
