"""The record of one kind of instruction: how it is read, printed, checked and encoded.

Every file of this folder defines the records of one or a few related instructions and, for each, a
`Kind`; `table.py` lists them. The drivers (`text/`, `check/`, `compile/code/code_encoder.py`) look
an instruction's kind up and call it. They pass a context, which offers what the kind needs: a
`BodyParser`, a `CheckContext`, an `Encoder`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tilewright.simulator.descriptors.register_use import RegisterUse
from tilewright.simulator.isa.dsd import Fifo, Register
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.program import (
    ElementCode,
    Program,
)
from tilewright.simulator.program.routes import RouteChange
from tilewright.simulator.text.tokens import Line

I = TypeVar("I", bound=Instruction)  # noqa: E741 - an instruction
Body = tuple[Instruction, ...]
Counts = Mapping[str, int]
"""Counters that are known to be in 0..count-1."""


class BodyParser(Protocol):
    """What the parser of bodies offers: bodies inside, and names for errors."""

    def declare(self, part: str) -> None:
        """Note that errors which name this part of the task are about the line."""

    def body(self, line: Line) -> Body:
        """End the line, and return the instructions of the lines that are indented deeper."""

    def branch(self, word: str) -> Line | None:
        """Return the next line, without its word, if it continues an instruction by that word."""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Where an instruction stands, for checks that need no profile."""

    code: ElementCode
    task: str
    counts: Counts
    check_body: Callable[[Body, Counts], None]
    """Checks a body inside, with what is known of counters there."""

    @property
    def place(self) -> str:
        """The task, as errors name it."""
        return f"code {self.code.name}, task {self.task}"


@dataclass(frozen=True, slots=True)
class ColorContext:
    """Where an instruction stands, for checks of queues and colors."""

    code: ElementCode
    colors: frozenset[str]
    place: str


@dataclass(frozen=True, slots=True)
class ProgramContext:
    """Where an instruction stands, for checks of routes."""

    program: Program
    code: ElementCode
    place: str


@dataclass(frozen=True, slots=True)
class ProfileContext:
    """Where an instruction stands, for checks against a profile."""

    code: ElementCode
    task: str
    profile: Profile

    @property
    def place(self) -> str:
        """The task, as errors name it."""
        return f"code {self.code.name}, task {self.task}"


@dataclass(slots=True)
class FabricChanges:
    """What a code does to routers and queues while it runs, collected by the encoder."""

    routes: dict[str, list[RouteChange]] = field(default_factory=dict)
    """By color, what its router may be changed to, in the order of the engine's rows."""
    bindings: list[tuple[int, str]] = field(default_factory=list)
    """(slot, color) of the queues that are bound again, their first color included."""
    flushes: bool = False


class Encoder(Protocol):
    """What the encoder of a code offers; row numbers count from the code's first row."""

    code: ElementCode
    profile: Profile
    task: str
    """The task whose body is encoded."""
    tasks: dict[str, int]
    """Numbers of the code's tasks."""
    colors: dict[str, int]
    """Ids of the program's colors."""
    fifos: list[Fifo]
    fabric: FabricChanges

    @property
    def next_row(self) -> int:
        """The number of the next row of the instruction table."""

    @property
    def operation_count(self) -> int:
        """The number of operations so far, and of the next row of their table."""

    def emit(self, opcode: int, *arguments: int) -> int:
        """Append a row to the instruction table; return its number."""

    def jump_here(self, row: int) -> None:
        """Let a row of the instruction table lead to the next row."""

    def body(self, body: Body) -> None:
        """Encode the instructions of a body."""

    def variable(self, name: str) -> int:
        """Return the number of a counter of the element."""

    def thread(self, microthread: int) -> int:
        """Return the thread row of a microthread."""

    def operand(self, operand: ResolvedOperand) -> int:
        """Append an operand's row; return its number."""

    def operation(self, op: DsdOperation) -> int:
        """Append the rows of an operation on descriptors; return the first one's number."""

    def append_operation(self, row: list[int], resolved: ResolvedOperation) -> int:
        """Append a row that is made elsewhere, and note its queues; return its number."""

    def append_scalar(self, row: list[int]) -> int:
        """Append a row to the table of scalar operations; return its number."""

    def append_load(self, row: list[int]) -> int:
        """Append a row to the table of register loads; return its number."""

    def register(self, register: Register) -> int:
        """Return the number of a data-structure register of the element."""

    def loaded_operand(self, load: LoadRegister) -> int:
        """Return the operand row of what a load puts into its register."""


Parser = Callable[[Line, BodyParser], I]


def no_check(*_: object) -> None:
    """Accept every instruction."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[I]):
    """One kind of instruction. Every check raises ProgramError.

    The checks run one after the other over a whole code, in the order of the fields, so that the
    first error of a program is always the same one.
    """

    record: type[I]
    """The frozen dataclass of the instruction."""
    text: Callable[[I], str]
    """Returns its line of the text form, of several bodies the first line."""
    encode: Callable[[I, Encoder], None]
    """Appends its rows to the engine's tables. Raises ProgramError."""
    words: Mapping[str, Parser[I]] = field(default_factory=dict)
    """The words that its lines begin with; each parser reads the rest of the line."""
    begins: Callable[[Line], bool] | None = None
    """Of a kind without such words: whether a line begins an instruction of this kind."""
    parse: Parser[I] | None = None
    """Of a kind without such words: the parser of the whole line."""
    has_bodies: bool = False
    check: Callable[[I, CheckContext], None] = no_check
    """Refuses names that the code does not have, wrong forms, numbers and bounds."""
    check_colors: Callable[[I, ColorContext], None] = no_check
    """Refuses queues that are not bound and unknown colors."""
    check_program: Callable[[I, ProgramContext], None] = no_check
    """Refuses what the routes of the program do not allow."""
    check_profile: Callable[[I, ProfileContext], None] = no_check
    """Refuses what a profile's machine does not have."""
    registers: Callable[[I, ElementCode, str], RegisterUse | None] | None = None
    """Returns the registers that it needs beside those that it names (code, task)."""
