"""The builtins that change descriptors: each returns a new record, the old one is unchanged.

An operand does the same for one operation, also by counters: `Ref("d").at(k)`, `.of("buffer")`,
`.with_length(n)`, `.with_stride(n)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tilewright.simulator.isa.dsd import (
    Buffer,
    Circbuf,
    Dsd,
    Fabin,
    Fabout,
    Fifo,
    Mem1d,
    Mem4d,
    Ref,
)
from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES

Memory = TypeVar("Memory", Mem1d, Mem4d)
WITH_LENGTH = (Mem1d, Circbuf, Fabin, Fabout)


def set_dsd_base_addr(dsd: Memory, buffer: str, name: str = "") -> Memory:
    """Return a copy of a mem1d or mem4d descriptor on another buffer, from its first element on.

    The offset becomes 0. `name` names the copy (empty: the same name). Raises ProgramError for any
    other kind of descriptor.
    """
    _refuse(dsd, (Mem1d, Mem4d), "set_dsd_base_addr", "mem1d or mem4d")
    return replace(dsd, name=name or dsd.name, buffer=buffer, offset=0)


def increment_dsd_offset(dsd: Memory, offset: int, name: str = "") -> Memory:
    """Return a copy of a mem1d or mem4d descriptor that starts `offset` elements later.

    `name` names the copy (empty: the same name). Raises ProgramError for another kind of
    descriptor or an offset outside of -32768..32767.
    """
    _refuse(dsd, (Mem1d, Mem4d), "increment_dsd_offset", "mem1d or mem4d")
    if not -(1 << 15) <= offset < 1 << 15:
        raise ProgramError("increment_dsd_offset: the offset is no i16", value=offset)
    return replace(dsd, name=name or dsd.name, offset=dsd.offset + offset)


def set_dsd_length(dsd: Dsd, length: int, name: str = "") -> Dsd:
    """Return a copy of a descriptor with another extent: elements in memory, wavelets of a queue.

    `name` names the copy (empty: the same name). Raises ProgramError for a mem4d or a FIFO, or a
    length outside of 0..65535.
    """
    if not isinstance(dsd, WITH_LENGTH):
        _refuse(dsd, WITH_LENGTH, "set_dsd_length", "any descriptor but mem4d and FIFOs")
    assert not isinstance(dsd, Mem4d | Fifo)
    if not 0 <= length < 1 << 16:
        raise ProgramError("set_dsd_length: the length is no u16", value=length)
    return replace(dsd, name=name or dsd.name, extent=length)


def set_dsd_stride(dsd: Mem1d, stride: int, name: str = "") -> Mem1d:
    """Return a copy of a mem1d descriptor with another stride, in elements.

    `name` names the copy (empty: the same name). Raises ProgramError for another kind of
    descriptor or a stride outside of -128..127.
    """
    _refuse(dsd, (Mem1d,), "set_dsd_stride", "mem1d")
    if not -128 <= stride < 128:
        raise ProgramError("set_dsd_stride: the stride is no i8", value=stride)
    return replace(dsd, name=name or dsd.name, stride=stride)


def _refuse(dsd: Dsd, kinds: tuple[type, ...], builtin: str, instead: str) -> None:
    if not isinstance(dsd, kinds):
        raise ProgramError(
            f"{builtin}: not for a {type(dsd).__name__.lower()}", value=dsd.name, instead=instead
        )


def changed_descriptor(
    dsd: Dsd, operand: Ref, place: str
) -> tuple[Dsd, Index | None, Index | None]:
    """Apply the changes of an operand to its descriptor; return (descriptor, length, stride).

    The descriptor has every change that is a constant. The length and the stride (elements) are
    those that depend on counters and so are known only while the program runs; None where the
    change is a constant or there is none. `place` names the operation in errors. Raises
    ProgramError for a change that this kind of descriptor does not allow.
    """
    length, stride = operand.length, operand.stride
    try:
        dsd = _with_base(dsd, operand.base)
        if operand.pointer:
            _refuse(dsd, (Mem1d, Mem4d), "set_dsd_base_addr", "mem1d or mem4d")
            assert isinstance(dsd, Mem1d | Mem4d)
            dsd = replace(dsd, offset=0)
        dsd = _with_length(dsd, length)
        dsd = _with_stride(dsd, stride)
    except ProgramError as error:
        raise ProgramError(
            f"{place}: {error.what}", value=error.value, instead=error.instead
        ) from None
    return dsd, _late(length), _late(stride)


def _with_base(dsd: Dsd, buffer: str | None) -> Dsd:
    if buffer is None:
        return dsd
    _refuse(dsd, (Mem1d, Mem4d), "set_dsd_base_addr", "mem1d or mem4d")
    assert isinstance(dsd, Mem1d | Mem4d)
    return replace(dsd, buffer=buffer, offset=0)


def _with_length(dsd: Dsd, length: Index | None) -> Dsd:
    if length is None:
        return dsd
    _refuse(dsd, WITH_LENGTH, "set_dsd_length", "any descriptor but mem4d and FIFOs")
    return dsd if length.terms else set_dsd_length(dsd, length.constant)


def _with_stride(dsd: Dsd, stride: Index | None) -> Dsd:
    if stride is None:
        return dsd
    _refuse(dsd, (Mem1d,), "set_dsd_stride", "mem1d")
    assert isinstance(dsd, Mem1d)
    return dsd if stride.terms else set_dsd_stride(dsd, stride.constant)


def _late(change: Index | None) -> Index | None:
    """Return a changed length or stride if it depends on counters."""
    return change if change is not None and change.terms else None


def offset_in_elements(operand: Ref, buffer: Buffer, place: str) -> Index:
    """Return the offset of an operand in elements of its buffer, whatever type it counts.

    An offset of 3 counted in f32 moves 6 elements of u16. `place`: the operation, for the message.
    Raises ProgramError for an unknown type, and for an offset that ends inside a value.
    """
    offset, counted = operand.offset, operand.offset_type
    if not counted:
        return offset
    if counted not in DTYPES:
        raise ProgramError(
            f"{place}: an offset counts an unknown type",
            value=counted,
            instead="one of " + ", ".join(DTYPES),
        )
    unit, words = DTYPES[buffer.dtype], offset * DTYPES[counted]
    if any(number % unit for number in (words.constant, *(factor for _, factor in words.terms))):
        raise ProgramError(
            f"{place}: the offset ends inside a value of buffer {buffer.name}",
            value=f"{offset} {counted}",
            instead=f"a whole number of {buffer.dtype}",
        )
    terms = tuple((name, factor // unit) for name, factor in words.terms)
    return Index(words.constant // unit, terms)
