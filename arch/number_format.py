"""Number formats and the bytes of a tile: plain ones, and blocks with a shared exponent.

In a block format 16 scalars share an exponent of one byte. One public compiler counts the mantissas
only (1024 bytes for a 32 × 32 tile of bfp8); the hardware stores the exponents too (1088 bytes).
Source: docs/theory/layouts.md §3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from tilewright.arch.errors import SpecError
from tilewright.arch.names import did_you_mean

Sizes = Literal["compiler", "hardware"]


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """Describe how the scalars of a tensor are stored.

    `bits`: of one scalar without its share of an exponent; `shared_by`: scalars that share one
    exponent byte (0: none do); `names`: other names of the format in text forms.
    """

    name: str
    bits: int
    shared_by: int = 0
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Name of the format in the text form of tensors."""
        in_text = self.name.startswith(("bfp", "fp8", "int", "uint", "bool"))
        return self.names[0] if in_text else self.name

    @property
    def bits_per_value(self) -> Fraction:
        """Bits of one value with its share of an exponent: 17/2 for bfp8."""
        return self.bits + Fraction(8, self.shared_by) if self.shared_by else Fraction(self.bits)

    def tile_bytes(self, scalars: int, sizes: Sizes = "compiler") -> int:
        """Return the bytes of a tile of `scalars` values, rounded up to whole bytes.

        `sizes`: "hardware" counts shared exponents, "compiler" does not. Example: 1024 values of
        bfp8: 1024 and 1088 bytes; of bfp4: 512 and 576; of bf16: 2048 both ways.
        """
        exponents = -(-scalars // self.shared_by) if self.shared_by and sizes == "hardware" else 0
        return -(-scalars * self.bits // 8) + exponents


_FORMATS: Final = (
    NumberFormat("f64", 64, names=("float64",)),
    NumberFormat("f32", 32, names=("float32", "fp32")),
    NumberFormat("tf32", 32, names=("tfloat32",)),
    NumberFormat("bf16", 16, names=("bfloat16",)),
    NumberFormat("f16", 16, names=("float16", "fp16")),
    NumberFormat("fp8", 8, names=("f8E4M3FN", "fp8_e4m3", "float8_e4m3")),
    NumberFormat("fp8_e5m2", 8, names=("f8E5M2", "float8_e5m2")),
    NumberFormat("bfp8", 8, 16, ("bfp_bf8", "bfp8_b")),
    NumberFormat("bfp4", 4, 16, ("bfp_bf4", "bfp4_b")),
    NumberFormat("bfp2", 2, 16, ("bfp_bf2", "bfp2_b")),
    NumberFormat("bfp8_a", 8, 16, ("bfp_f8",)),
    NumberFormat("bfp4_a", 4, 16, ("bfp_f4",)),
    NumberFormat("bfp2_a", 2, 16, ("bfp_f2",)),
    NumberFormat("int64", 64, names=("i64", "si64")),
    NumberFormat("uint64", 64, names=("ui64", "u64")),
    NumberFormat("int32", 32, names=("i32", "si32")),
    NumberFormat("uint32", 32, names=("ui32", "u32")),
    NumberFormat("int16", 16, names=("i16", "si16")),
    NumberFormat("uint16", 16, names=("ui16", "u16")),
    NumberFormat("int8", 8, names=("i8", "si8")),
    NumberFormat("uint8", 8, names=("ui8", "u8")),
    NumberFormat("int4", 4, names=("i4", "si4")),
    NumberFormat("uint4", 4, names=("ui4", "u4")),
    NumberFormat("fp4", 4, names=("f4E2M1FN", "fp4_e2m1")),
    NumberFormat("bool", 8, names=("i1", "bool_")),
)
_BY_NAME: Final = {name: form for form in _FORMATS for name in (form.name, *form.names)}


def number_format(name: str) -> NumberFormat:
    """Return a format by any of its names; raise SpecError with the known ones for another name."""
    if name not in _BY_NAME:
        known = ", ".join(form.name for form in _FORMATS)
        raise SpecError(f"unknown number format {name!r}", value=name, instead=f"one of {known}")
    return _BY_NAME[name]


def close_formats(name: str) -> str | None:
    """Return "did you mean …?" for a misspelt name of a format, None if none is close."""
    return did_you_mean(name, _BY_NAME)


def bits_of_format(name: object) -> Fraction | None:
    """Return the bits per value of a number format; None for what is no name of one."""
    form = _BY_NAME.get(name.strip()) if isinstance(name, str) else None
    return None if form is None else form.bits_per_value
