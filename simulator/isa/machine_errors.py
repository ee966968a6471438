"""Errors of programs, profiles and runs of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.arch.errors import SpecError, TilewrightError

if TYPE_CHECKING:  # a profile is read without what explains a deadlock
    from tilewright.simulator.diagnose.wait_graph import Wait


class ProfileError(SpecError):
    """A machine profile (the YAML file with a machine's numbers) has an unknown or wrong value."""

    category = "profile"


class ProgramError(TilewrightError):
    """A program is refused before it runs: a name, size or type in it is unknown or does not match.

    `about` is the part of the program that the error is about (a task, an instruction, a route),
    None if the check did not say.
    """

    category = "program"

    about: object = None


class ErrorSubject:
    """Context manager around the check of one part of a program.

    A ProgramError raised inside gets that part as its `about`, unless it has one already. The part
    later leads to the line of the program's text.
    """

    __slots__ = ("part",)

    def __init__(self, part: object) -> None:
        self.part = part

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ProgramError) and error.about is None:
            error.about = self.part


def close_names(name: object, names: Sequence[str]) -> str:
    """Return what an error offers for an unknown name: similar names, else all that exist."""
    from difflib import get_close_matches

    if not names:
        return "one that is declared"
    close = get_close_matches(str(name), names, n=1)
    return close[0] if close else "one of " + ", ".join(names)


class MachineError(TilewrightError):
    """A run did what is undefined on the machine, or was given wrong data.

    The message names the operation, element (row, column) and cycle where the run knows them.
    """

    category = "undefined behaviour"


class MemoryRaceError(MachineError):
    """An instruction and a running microthread use the same memory word, and one of them writes it.

    Nothing orders the two. The message names both operations, and the element of the buffer.
    """


class UnwrittenReadError(MachineError):
    """A run that refuses it read memory that neither the program nor its data had written.

    The message names the operation, and the element of the buffer.
    """


class InputDataError(MachineError):
    """A run was given wrong data or settings: shapes, dtypes, names, elements, numbers."""

    category = "input data"


class RunLimitError(MachineError):
    """A run takes more cycles than it was allowed."""

    category = "limit"


class RunStoppedError(MachineError):
    """A run was ended before its end, because whoever asked for it wants no more of it."""

    category = "limit"


class DeadlockError(MachineError):
    """The program can make no further progress, but tasks, operations or wavelets are left.

    `cycle` is the cycle from which on nothing moves; `waits` has one line of text for each thing
    that waits, with what it waits for; `mermaid` and `svg` are the same as a graph.
    """

    category = "deadlock"

    def __init__(self, message: str, *, cycle: int, waits: Sequence[Wait | str]) -> None:
        from tilewright.simulator.diagnose.wait_graph import Wait

        self.wait_records = tuple(Wait(w) if isinstance(w, str) else w for w in waits)
        self.waits = tuple(map(str, self.wait_records))
        super().__init__(message + "".join(f"\n  - {line}" for line in self.waits))
        self.cycle = cycle

    @property
    def mermaid(self) -> str:
        """The graph of who waits for whom, as the text of a Mermaid flowchart."""
        from tilewright.simulator.diagnose.wait_graph import mermaid

        return mermaid(self.wait_records)

    @property
    def svg(self) -> str:
        """The graph of who waits for whom, as an SVG picture."""
        from tilewright.simulator.diagnose.wait_graph import svg

        return svg(self.wait_records)
