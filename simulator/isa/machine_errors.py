"""Errors of programs, profiles and runs of the machine."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.simulator.diagnose import wait_graph
from tilewright.simulator.diagnose.wait_graph import Wait


class ProfileError(SpecError):
    """A machine profile does not hold."""


class ProgramError(TilewrightError):
    """A program is refused before it runs: it names what does not exist, fit or match.

    `about` is the part of the program that is meant, where the check knows it.
    """

    about: object = None


class ErrorSubject:
    """Around the check of a part of a program: a ProgramError inside is about the part."""

    __slots__ = ("part",)

    def __init__(self, part: object) -> None:
        self.part = part

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ProgramError) and error.about is None:
            error.about = self.part


class MachineError(TilewrightError):
    """A run did what is undefined on the machine: the operation, element and cycle are named."""


class DeadlockError(MachineError):
    """Nothing can move any more.

    `waits` says, one line each, who waits for whom; `mermaid` and `svg` are the same as a graph.
    """

    def __init__(self, message: str, *, cycle: int, waits: Sequence[Wait | str]) -> None:
        self.found = tuple(Wait(w) if isinstance(w, str) else w for w in waits)
        self.waits = tuple(map(str, self.found))
        super().__init__(message + "".join(f"\n  - {line}" for line in self.waits))
        self.cycle = cycle

    @property
    def mermaid(self) -> str:
        return wait_graph.mermaid(self.found)

    @property
    def svg(self) -> str:
        return wait_graph.svg(self.found)
