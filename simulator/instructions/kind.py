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
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import RouteChange
from tilewright.simulator.text.tokens import Line

I = TypeVar("I", bound=Instruction)  # noqa: E741 - an instruction
Body = tuple[Instruction, ...]
Counts = Mapping[str, int]
"""Counters that are known to be in 0..count-1."""


class BodyParser(Protocol):
    """What a parser of instructions may ask of the parser of bodies around it."""

    def declare(self, part: str) -> None:
        """Note that errors which name this part of the task belong to the line that is read now."""

    def body(self, line: Line) -> Body:
        """End the line and return the instructions of the following lines, indented deeper.

        Raises ProgramError.
        """

    def branch(self, word: str) -> Line | None:
        """Return the next line, behind `word`, if it begins with this word (`else`), else None."""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Where an instruction stands, for checks that need no machine profile.

    `code`: the program of its class of elements; `task`: name; `counts`: counters known to be in
    0..count-1 there; `check_body`: checks a body inside.
    """

    code: ElementCode
    task: str
    counts: Counts
    check_body: Callable[[Body, Counts], None]
    """Checks a body inside, with what is known of counters there."""

    @property
    def place(self) -> str:
        """Code and task, as error messages name them."""
        return f"code {self.code.name}, task {self.task}"


@dataclass(frozen=True, slots=True)
class ColorContext:
    """Where an instruction stands, for checks of queues and colors.

    `code`: the program of its class of elements; `colors`: names of all colors; `place`: for
    messages.
    """

    code: ElementCode
    colors: frozenset[str]
    place: str


@dataclass(frozen=True, slots=True)
class ProgramContext:
    """Where an instruction stands, for checks against the whole program.

    `program`; `code`: the program of its class of elements; `place`: code and task for messages.
    """

    program: Program
    code: ElementCode
    place: str


@dataclass(frozen=True, slots=True)
class ProfileContext:
    """Where an instruction stands, for checks against a machine.

    `code`: the program of its class of elements; `task`: name; `profile`: the machine's numbers.
    """

    code: ElementCode
    task: str
    profile: Profile

    @property
    def place(self) -> str:
        """Code and task, as error messages name them."""
        return f"code {self.code.name}, task {self.task}"


@dataclass(slots=True)
class FabricChanges:
    """What the instructions of a code change at routers and queues while the program runs.

    `routes`: by color, the other routes that its router may get; `bindings`: (queue slot, color) of
    queues that are bound again; `flushes`: whether a queue is flushed.
    """

    routes: dict[str, list[RouteChange]] = field(default_factory=dict)
    """By color, what its router may be changed to, in the order of the engine's rows."""
    bindings: list[tuple[int, str]] = field(default_factory=list)
    """(slot, color) of the queues that are bound again, their first color included."""
    flushes: bool = False


class Encoder(Protocol):
    """What an instruction may ask of the compiler of a code, which fills the engine's tables.

    Numbers of rows count from the code's first row in each table.
    """

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
        """Number of the next row of the instruction table."""

    @property
    def operation_count(self) -> int:
        """Number of operations so far, which is that of the next row of their table."""

    def emit(self, opcode: int, *arguments: int) -> int:
        """Append a row to the instruction table of the engine; return the row's number.

        `opcode`: what it does; `arguments`: its further columns.
        """

    def jump_here(self, row: int) -> None:
        """Make a jump in the engine's instruction table lead to the row that comes next.

        `row`: number of the row that holds the jump.
        """

    def body(self, body: Body) -> None:
        """Encode the instructions of a body, in order."""

    def variable(self, name: str) -> int:
        """Return the number of a counter (32-bit variable) of the element; a new name gets one."""

    def thread(self, microthread: int) -> int:
        """Return the number of the thread in the engine's table that stands for a microthread."""

    def operand(self, operand: ResolvedOperand) -> int:
        """Append the row of an operand to the engine's table of operands; return its number."""

    def operation(self, op: DsdOperation) -> int:
        """Append the rows of an operation on descriptors and of its operands.

        Returns the number of the operation's row in the engine's table of operations.
        """

    def append_operation(self, row: list[int], resolved: ResolvedOperation) -> int:
        """Append a finished row to the engine's table of operations; return the row's number.

        `resolved`: the operation, from which the queues it uses are noted.
        """

    def append_scalar(self, row: list[int]) -> int:
        """Append a row to the engine's table of scalar instructions; return the row's number."""

    def append_load(self, row: list[int]) -> int:
        """Append a row to the engine's table of register loads; return the row's number."""

    def register(self, register: Register) -> int:
        """Return the engine's number for a data-structure register; a new one gets the next."""

    def loaded_operand(self, load: LoadRegister) -> int:
        """Return the number of the operand row of the descriptor that a load loads."""


Parser = Callable[[Line, BodyParser], I]


def no_check(*_: object) -> None:
    """Accept every instruction; used where a kind of instruction needs no check of some sort."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[I]):
    """One kind of instruction: how it is read, printed, checked and encoded.

    `record`: its dataclass; `text`, `encode`: print and compile one; `words`: first words of its
    lines with their parsers, or `begins` and `parse` where it has none; `has_bodies`: it contains
    instructions. `check`, `check_colors`, `check_program`, `check_profile` raise ProgramError; they
    run over a whole code one after the other in this order, so that a program's first error is
    always the same. `registers`: data-structure registers that it needs beside those it names.
    """

    record: type[I]
    """The frozen dataclass of the instruction."""
    text: Callable[[I], str]
    """Returns its line of the text form, of several bodies the first line."""
    encode: Callable[[I, Encoder], object]
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
