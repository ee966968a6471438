"""Vectors of a buffer with strides: `mem1d` of one dimension, `mem4d` of up to four."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.check.limits import MAX_EXTENT, check_number, check_offset
from tilewright.simulator.compile import columns as at
from tilewright.simulator.descriptors.kind import DescriptorKind, ExtraRegisters
from tilewright.simulator.isa.dsd import Mem1d, Mem4d
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operands import ResolvedOperand
from tilewright.simulator.isa.resolving import buffer_of
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.text.tokens import Line, Properties, flag, print_name

STRIDES_1D: Final = range(-128, 128)
STRIDES_4D: Final = range(-32768, 32768)
_COMMON: Final[Properties] = {"offset": Line.integer, "wavelet_index_offset": flag}
MEM1D_PROPERTIES: Final[Properties] = {"extent": Line.integer, "stride": Line.integer, **_COMMON}
MEM4D_PROPERTIES: Final[Properties] = {"extent": Line.integers, "stride": Line.integers, **_COMMON}


def _parse_mem1d(line: Line) -> Mem1d:
    names = line.name("the descriptor's name"), line.name("a buffer's name")
    return Mem1d(*names, **line.settings(MEM1D_PROPERTIES, "property of mem1d", ("extent",)))


def _parse_mem4d(line: Line) -> Mem4d:
    names = line.name("the descriptor's name"), line.name("a buffer's name")
    given = line.settings(MEM4D_PROPERTIES, "property of mem4d", ("extent",))
    extents = given.pop("extent")
    return Mem4d(*names, extents, given.pop("stride", (1,) * len(extents)), **given)


def _mem1d_text(dsd: Mem1d) -> str:
    return (
        f"mem1d {print_name(dsd.name)} {print_name(dsd.buffer)} extent {dsd.extent} "
        f"stride {dsd.stride} offset {dsd.offset}{_index_text(dsd)}"
    )


def _mem4d_text(dsd: Mem4d) -> str:
    extents = ", ".join(str(extent) for extent in dsd.extents)
    strides = ", ".join(str(stride) for stride in dsd.strides)
    return (
        f"mem4d {print_name(dsd.name)} {print_name(dsd.buffer)} extent [{extents}] "
        f"stride [{strides}] offset {dsd.offset}{_index_text(dsd)}"
    )


def _index_text(dsd: Mem1d | Mem4d) -> str:
    return " wavelet_index_offset" if dsd.wavelet_index_offset else ""


def _check_mem1d(dsd: Mem1d, code: ElementCode, place: str) -> None:
    buffer_of(code, dsd.buffer, place)
    _check_extents(place, (dsd.extent,), (dsd.stride,))
    check_number(place, dsd.extent)
    check_offset(place, dsd.offset)
    _check_strides(place, (dsd.stride,), STRIDES_1D, "mem4d has 16-bit strides")


def _check_mem4d(dsd: Mem4d, code: ElementCode, place: str) -> None:
    buffer_of(code, dsd.buffer, place)
    _check_extents(place, dsd.extents, dsd.strides)
    check_number(place, dsd.extent)
    check_offset(place, dsd.offset)
    _check_strides(place, dsd.strides, STRIDES_4D, None)


def _check_extents(place: str, extents: Sequence[int], strides: Sequence[int]) -> None:
    if not 1 <= len(extents) <= 4:
        raise ProgramError(
            f"{place}: between one and four dimensions", value=len(extents), instead="1 to 4"
        )
    if len(extents) != len(strides):
        raise ProgramError(
            f"{place}: extents and strides differ in number",
            value=f"{len(extents)} extents, {len(strides)} strides",
            instead="a stride for each extent",
        )
    if min(extents) < 0 or max(extents) > MAX_EXTENT:
        raise ProgramError(f"{place}: an extent is outside 0..{MAX_EXTENT}", value=extents)


def _check_strides(place: str, strides: Sequence[int], limits: range, instead: str | None) -> None:
    low, high = limits[0], limits[-1]
    if min(strides) < low or max(strides) > high:
        raise ProgramError(
            f"{place}: a stride is outside {low}..{high}", value=strides, instead=instead
        )


def stride_registers(dsd: Mem4d) -> int:
    """Return how many stride registers a loaded mem4d descriptor takes (theory/wafer.md §6.3).

    The innermost dimension takes none, and the next one takes none if the innermost stride is 1.
    So three dimensions with an innermost stride of 1 take one.
    """
    free = 1 if dsd.strides[0] != 1 else 2
    return max(0, len(dsd.extents) - free)


def _mem1d_columns(operand: ResolvedOperand, row: list[int]) -> None:
    assert isinstance(operand.dsd, Mem1d)
    row[at.D_FLAGS] = at.INDEXED if operand.dsd.wavelet_index_offset else 0


def _mem4d_columns(operand: ResolvedOperand, row: list[int]) -> None:
    dsd = operand.dsd
    assert isinstance(dsd, Mem4d)
    row[at.D_FLAGS] = at.INDEXED if dsd.wavelet_index_offset else 0
    row[at.D_SAVE] = dsd.coefficients()[0] * row[at.D_WIDE]


MEM1D: Final = DescriptorKind(
    record=Mem1d,
    word="mem1d",
    properties=MEM1D_PROPERTIES,
    parse=_parse_mem1d,
    text=_mem1d_text,
    check=_check_mem1d,
    columns=_mem1d_columns,
)
MEM4D: Final = DescriptorKind(
    record=Mem4d,
    word="mem4d",
    properties=MEM4D_PROPERTIES,
    parse=_parse_mem4d,
    text=_mem4d_text,
    check=_check_mem4d,
    columns=_mem4d_columns,
    extra_registers=lambda dsd: ExtraRegisters(1, stride_registers(dsd)),
)
