"""Wavelets of a queue: `fabin` of an input queue, `fabout` of an output queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.check.limits import MAX_FABRIC_EXTENT
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.simd_modes import MODES
from tilewright.simulator.descriptors.kind import DescriptorKind
from tilewright.simulator.isa.dsd import ENDLESS, Fabin, Fabout
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operands import ResolvedOperand
from tilewright.simulator.program.program import ElementCode, Queue
from tilewright.simulator.text.tokens import Line, Properties, flag, print_name, print_settings

FABIN_PROPERTIES: Final[Properties] = {
    "queue": Line.integer,
    "extent": Line.integer,
    "control_transform": flag,
    "priority": Line.name,
    "simd": Line.name,
}
FABOUT_PROPERTIES: Final[Properties] = {
    **FABIN_PROPERTIES,
    "control": flag,
    "advance_switch": flag,
    "wavelet_index_offset": flag,
    "zero": Line.name,
}
_FLAGS: Final = ("control", "advance_switch", "wavelet_index_offset", "control_transform")
"""Properties without a value, in the order of the text."""


def queue_of_color(place: str, color: str, queues: Sequence[Queue]) -> int:
    """Return the number of the queue that is bound to a color, for a descriptor that names it.

    `place`: the descriptor; `queues`: the input or the output queues declared so far. Raises
    ProgramError if none of them has the color.
    """
    for queue in queues:
        if queue.color == color:
            return queue.id
    raise ProgramError(
        f"{place}: no queue declared above is bound to this color",
        value=color,
        instead="input_queue or output_queue with the color, above the descriptor",
    )


def _parse_fabin(line: Line) -> Fabin:
    name = line.name("the descriptor's name")
    given = line.settings(FABIN_PROPERTIES, "property of fabin", ("queue", "extent"))
    return Fabin(name, **given)


def _parse_fabout(line: Line) -> Fabout:
    name = line.name("the descriptor's name")
    given = line.settings(FABOUT_PROPERTIES, "property of fabout", ("queue", "extent"))
    return Fabout(name, **given)


def _fabin_text(dsd: Fabin) -> str:
    transform = " control_transform" if dsd.control_transform else ""
    return f"fabin {_stream_text(dsd)}{transform}" + print_settings(dsd, ("priority", "simd"))


def _fabout_text(dsd: Fabout) -> str:
    flags = "".join(f" {name}" for name in _FLAGS if getattr(dsd, name))
    zero = f" zero {dsd.zero}" if dsd.zero else ""
    return f"fabout {_stream_text(dsd)}{flags}{zero}" + print_settings(dsd, ("priority", "simd"))


def _stream_text(dsd: Fabin | Fabout) -> str:
    return f"{print_name(dsd.name)} queue {dsd.queue} extent {dsd.extent}"


def _check_fabin(dsd: Fabin, code: ElementCode, place: str) -> None:
    _check_queue(dsd, code.input_queues, "input", place)
    _check_extent(dsd, place)


def _check_fabout(dsd: Fabout, code: ElementCode, place: str) -> None:
    _check_queue(dsd, code.output_queues, "output", place)
    if dsd.zero not in ("", "first", "second"):
        raise ProgramError(f"{place}: zero names the first or the second source", value=dsd.zero)
    if dsd.control and dsd.control_transform:
        raise ProgramError(f"{place}: control and control_transform exclude each other")
    _check_extent(dsd, place)


def _check_queue(dsd: Fabin | Fabout, queues: Sequence[Queue], side: str, place: str) -> None:
    if dsd.queue not in {queue.id for queue in queues}:
        raise ProgramError(
            f"{place}: {side} queue {dsd.queue} is not bound to a color",
            value=dsd.queue,
            instead=f"{side}_queue {dsd.queue} COLOR",
        )


def _check_extent(dsd: Fabin | Fabout, place: str) -> None:
    if not 0 <= dsd.extent <= MAX_FABRIC_EXTENT and dsd.extent != ENDLESS:
        raise ProgramError(
            f"{place}: a fabric extent is outside 0..{MAX_FABRIC_EXTENT}",
            value=dsd.extent,
            instead=f"{ENDLESS} for an operation that does not end by itself",
        )


def paired_values_error(place: str, dsd: Fabin | Fabout) -> ProgramError:
    """Return the error of a map over a stream whose wavelets hold two values each (SIMD mode).

    `place` begins the message; dsd: the descriptor of the stream.
    """
    return ProgramError(
        f"{place}: the callback of a map takes one value, a wavelet of {dsd.name} has two",
        value=dsd.simd,
        instead="a descriptor without SIMD mode",
    )


def _fabin_columns(operand: ResolvedOperand, row: list[int]) -> None:
    dsd = operand.dsd
    assert isinstance(dsd, Fabin)
    row[at.D_KIND], row[at.D_BASE] = at.FABRIC_IN, dsd.queue
    row[at.D_FLAGS] = _common_flags(dsd)
    row[at.D_SIMD] = MODES.get(dsd.simd, at.SIMD_NONE)


def _fabout_columns(operand: ResolvedOperand, row: list[int]) -> None:
    dsd = operand.dsd
    assert isinstance(dsd, Fabout)
    row[at.D_KIND], row[at.D_BASE] = at.FABRIC_OUT, at.OUTPUT_SLOT + dsd.queue
    flags = _common_flags(dsd)
    flags |= at.INDEXED if dsd.wavelet_index_offset else 0
    flags |= at.SENDS_CONTROL if dsd.control else 0
    flags |= at.ADVANCES if dsd.advance_switch else 0
    row[at.D_FLAGS] = flags
    row[at.D_SIMD] = MODES.get(dsd.simd, at.SIMD_NONE)


def _common_flags(dsd: Fabin | Fabout) -> int:
    return (at.TRANSFORMS if dsd.control_transform else 0) | (at.PAIRS if dsd.simd else 0)


FABIN: Final = DescriptorKind(
    record=Fabin,
    word="fabin",
    properties=FABIN_PROPERTIES,
    parse=_parse_fabin,
    text=_fabin_text,
    check=_check_fabin,
    columns=_fabin_columns,
)
FABOUT: Final = DescriptorKind(
    record=Fabout,
    word="fabout",
    properties=FABOUT_PROPERTIES,
    parse=_parse_fabout,
    text=_fabout_text,
    check=_check_fabout,
    columns=_fabout_columns,
)
