"""The builtins that change descriptors: each returns a new value, the given one stays.

An operand does the same for one operation, also by counters: `Ref("d").at(k)`, `.of("buffer")`,
`.with_length(n)`, `.with_stride(n)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tilewright.simulator.isa.dsd import Circbuf, Dsd, Fabin, Fabout, Fifo, Index, Mem1d, Mem4d, Ref
from tilewright.simulator.isa.machine_errors import ProgramError

Memory = TypeVar("Memory", Mem1d, Mem4d)
WITH_LENGTH = (Mem1d, Circbuf, Fabin, Fabout)


def set_dsd_base_addr(dsd: Memory, buffer: str, name: str = "") -> Memory:
    """Return a memory descriptor of another buffer; base and offset are replaced."""
    _refuse(dsd, (Mem1d, Mem4d), "set_dsd_base_addr", "mem1d or mem4d")
    return replace(dsd, name=name or dsd.name, buffer=buffer, offset=0)


def increment_dsd_offset(dsd: Memory, offset: int, name: str = "") -> Memory:
    """Return a memory descriptor that starts `offset` elements later (16-bit signed)."""
    _refuse(dsd, (Mem1d, Mem4d), "increment_dsd_offset", "mem1d or mem4d")
    if not -(1 << 15) <= offset < 1 << 15:
        raise ProgramError("increment_dsd_offset: the offset is no i16", value=offset)
    return replace(dsd, name=name or dsd.name, offset=dsd.offset + offset)


def set_dsd_length(dsd: Dsd, length: int, name: str = "") -> Dsd:
    """Return a descriptor of `length` elements or wavelets (u16); not of a mem4d."""
    if not isinstance(dsd, WITH_LENGTH):
        _refuse(dsd, WITH_LENGTH, "set_dsd_length", "any descriptor but mem4d and FIFOs")
    assert not isinstance(dsd, Mem4d | Fifo)
    if not 0 <= length < 1 << 16:
        raise ProgramError("set_dsd_length: the length is no u16", value=length)
    return replace(dsd, name=name or dsd.name, extent=length)


def set_dsd_stride(dsd: Mem1d, stride: int, name: str = "") -> Mem1d:
    """Return a mem1d descriptor of another stride (i8)."""
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
    """Return an operand's descriptor with its constant changes, and what is known later.

    Those are length and stride. Raises ProgramError.
    """
    length, stride = operand.length, operand.stride
    try:
        if operand.base is not None:
            _refuse(dsd, (Mem1d, Mem4d), "set_dsd_base_addr", "mem1d or mem4d")
            assert isinstance(dsd, Mem1d | Mem4d)
            dsd = replace(dsd, buffer=operand.base, offset=0)
        if length is not None:
            _refuse(dsd, WITH_LENGTH, "set_dsd_length", "any descriptor but mem4d and FIFOs")
            dsd = dsd if length.terms else set_dsd_length(dsd, length.constant)
        if stride is not None:
            _refuse(dsd, (Mem1d,), "set_dsd_stride", "mem1d")
            assert isinstance(dsd, Mem1d)
            dsd = dsd if stride.terms else set_dsd_stride(dsd, stride.constant)
    except ProgramError as error:
        raise ProgramError(
            f"{place}: {error.what}", value=error.value, instead=error.instead
        ) from None
    if length is not None and not length.terms:
        if length.constant == 0:
            raise ProgramError(f"{place}: {dsd.name} has no elements", value=0)
        length = None
    return dsd, length, stride if stride is not None and stride.terms else None
