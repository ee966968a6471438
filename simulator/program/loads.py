"""What a code loads into its registers."""

from __future__ import annotations

from typing import Final

from tilewright.simulator.isa.dsd import Dsd, Register
from tilewright.simulator.isa.memo import IdentityCache
from tilewright.simulator.program.instructions import instructions
from tilewright.simulator.program.program import ElementCode, LoadRegister

_LOADS: Final = IdentityCache(16)
"""Every operation of a code asks for them."""


def loaded_descriptors(code: ElementCode, register: Register | None) -> list[Dsd]:
    """Return the descriptors that a code loads into a register."""
    if register is None:
        return []
    names = (
        load.dsd
        for load in all_loads(code)
        if (load.register.file, load.register.id) == (register.file, register.id)
    )
    return [dsd for dsd in map(code.dsd, names) if dsd is not None]


def all_loads(code: ElementCode) -> tuple[LoadRegister, ...]:
    """Return every load of a code, those before the start first."""
    found: tuple[LoadRegister, ...] = _LOADS.of(code, "loads", lambda: _all_loads(code))
    return found


def _all_loads(code: ElementCode) -> tuple[LoadRegister, ...]:
    later = (i for _, i in instructions(code) if isinstance(i, LoadRegister))
    return *code.loads, *later
