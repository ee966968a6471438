"""Errors of programs, profiles and runs of the machine."""

from __future__ import annotations

from tilewright.arch.errors import SpecError, TilewrightError


class ProfileError(SpecError):
    """A machine profile does not hold."""


class ProgramError(TilewrightError):
    """A program is refused before it runs: it names what does not exist, fit or match."""


class MachineError(TilewrightError):
    """A run did what is undefined on the machine: the operation, element and cycle are named."""


class DeadlockError(MachineError):
    """Nothing can move any more: `waits` says, one line each, who waits for whom."""

    def __init__(self, what: str, *, cycle: int, waits: tuple[str, ...]) -> None:
        super().__init__(what + "".join(f"\n  - {line}" for line in waits))
        self.cycle = cycle
        self.waits = waits
