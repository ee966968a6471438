"""Loops and branches, and the counters that they test.

A counter is a 32-bit number of the element that lives across tasks and starts at 0. The checks of
bounds know the range of a counter where a loop sets it and nothing else does: inside `loop k 3`
the counter k is in 0..2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tilewright.simulator.check.limits import check_number, unknown_name
from tilewright.simulator.compile import columns as at
from tilewright.simulator.instructions.kind import (
    Body,
    BodyParser,
    CheckContext,
    Counts,
    Encoder,
    Kind,
)
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.program.code_parts import walk
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.text.tokens import Line, print_name


@dataclass(frozen=True, slots=True)
class Loop(Instruction):
    """The instruction `loop`: run `body` `count` times.

    The counter `variable`, a 32-bit variable of the element, goes from 0 to count-1.
    """

    variable: str
    count: int
    body: tuple[Instruction, ...]

    @property
    def bodies(self) -> tuple[tuple[Instruction, ...], ...]:
        """Its one body."""
        return (self.body,)


@dataclass(frozen=True, slots=True)
class If(Instruction):
    """The instruction `if`: run `then` if a counter is below a number, else `otherwise`.

    `variable`: name of the counter, a 32-bit variable of the element; `below`: the number.
    """

    variable: str
    below: int
    then: tuple[Instruction, ...]
    otherwise: tuple[Instruction, ...] = ()

    @property
    def bodies(self) -> tuple[tuple[Instruction, ...], ...]:
        """The two branches."""
        return self.then, self.otherwise


@dataclass(frozen=True, slots=True)
class Set(Instruction):
    """The instruction `set`: give a counter a value.

    `variable`: name of the counter, a 32-bit variable of the element that lives across tasks and is
    0 at the start.
    """

    variable: str
    value: int

    @property
    def counters_set(self) -> tuple[str, ...]:
        """The counter that is set."""
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class Point(Instruction):
    """The instruction `point`: give a counter the address of an element of an array.

    `variable`: name of the counter; `buffer`: the array; `first`: number of the element. The
    address counts 16-bit words of the element's memory; an operand `{at variable}` begins there.
    """

    variable: str
    buffer: str
    first: int = 0

    @property
    def counters_set(self) -> tuple[str, ...]:
        """The counter that is set."""
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class Add(Instruction):
    """The instruction `add`: add the number `value` to a counter.

    `variable`: name of the counter, a 32-bit variable of the element that lives across tasks.
    """

    variable: str
    value: int

    @property
    def counters_set(self) -> tuple[str, ...]:
        """The counter that is changed."""
        return (self.variable,)


def counters_set(body: Body) -> frozenset[str]:
    """Return the counters that a body of instructions sets, bodies inside it included.

    A counter is a named 32-bit variable of the element; variables of loops in the body are not
    counted as set.
    """
    return frozenset(name for instruction in walk(body) for name in instruction.counters_set)


def without_counters(counts: Counts, *names: str) -> Counts:
    """Return what is known of counters, without some of them.

    `counts` maps a counter to n if its value is known to be in 0..n-1; `names` are dropped.
    """
    if not any(name in counts for name in names):
        return counts
    return {name: count for name, count in counts.items() if name not in names}


def _where_below(counts: Counts, test: If) -> Counts:
    """Return the known counters where the counter of an `if` is below its limit."""
    count = counts.get(test.variable)
    if count is None or test.below >= count:
        return counts
    if test.below < 1:  # the body never runs
        return without_counters(counts, test.variable)
    return {**counts, test.variable: test.below}


def _parse_loop(line: Line, parser: BodyParser) -> Loop:
    name, count = line.name("the loop's variable"), line.integer("the number of turns")
    parser.declare(f"loop {name}")
    return Loop(name, count, parser.body(line))


def _check_loop(loop: Loop, context: CheckContext) -> None:
    place = f"{context.place}, loop {loop.variable}"
    if loop.count < 1:
        raise ProgramError(f"{place}: the count is not positive", value=loop.count)
    check_number(place, loop.count)
    if loop.variable in context.counts:
        raise ProgramError(f"{place}: the variable belongs to a loop around it")
    counts_in_body = {**context.counts, loop.variable: loop.count}
    context.check_body(loop.body, without_counters(counts_in_body, *counters_set(loop.body)))


def _encode_loop(loop: Loop, encoder: Encoder) -> None:
    slot = encoder.variable(loop.variable)
    encoder.emit(at.I_LOOP, slot, 0)
    start = encoder.next_row
    encoder.body(loop.body)
    encoder.emit(at.I_END_LOOP, slot, loop.count, start)


LOOP: Final = Kind(
    record=Loop,
    words={"loop": _parse_loop},
    text=lambda loop: f"loop {print_name(loop.variable)} {loop.count}",
    has_bodies=True,
    check=_check_loop,
    encode=_encode_loop,
)


def _parse_if(line: Line, parser: BodyParser) -> If:
    name = line.name("a counter")
    line.expect("<")
    below = line.integer("the limit")
    then = parser.body(line)
    branch = parser.branch("else")
    return If(name, below, then, () if branch is None else parser.body(branch))


def _check_if(test: If, context: CheckContext) -> None:
    check_number(context.place, test.below)
    context.check_body(test.then, _where_below(context.counts, test))
    context.check_body(test.otherwise, without_counters(context.counts, test.variable))


def _encode_if(test: If, encoder: Encoder) -> None:
    condition = encoder.emit(at.I_UNLESS_BELOW, encoder.variable(test.variable), test.below)
    encoder.body(test.then)
    if not test.otherwise:
        encoder.jump_here(condition)
        return
    end_of_then = encoder.emit(at.I_JUMP)
    encoder.jump_here(condition)
    encoder.body(test.otherwise)
    encoder.jump_here(end_of_then)


IF: Final = Kind(
    record=If,
    words={"if": _parse_if},
    text=lambda test: f"if {print_name(test.variable)} < {test.below}",
    has_bodies=True,
    check=_check_if,
    encode=_encode_if,
)


SET: Final = Kind(
    record=Set,
    words={"set": lambda line, _: Set(line.name("a counter"), line.integer("the value"))},
    text=lambda instruction: f"set {print_name(instruction.variable)} {instruction.value}",
    check=lambda instruction, context: check_number(context.place, instruction.value),
    encode=lambda instruction, encoder: encoder.emit(
        at.I_SET, encoder.variable(instruction.variable), instruction.value
    ),
)
ADD: Final = Kind(
    record=Add,
    words={"add": lambda line, _: Add(line.name("a counter"), line.integer("the value"))},
    text=lambda instruction: f"add {print_name(instruction.variable)} {instruction.value}",
    check=lambda instruction, context: check_number(context.place, instruction.value),
    encode=lambda instruction, encoder: encoder.emit(
        at.I_ADD, encoder.variable(instruction.variable), instruction.value
    ),
)


def _parse_point(line: Line, _: BodyParser) -> Point:
    variable, buffer, first = line.name("a counter"), line.name("a buffer"), 0
    if line.has("("):
        first = line.integer("an element")
        line.expect(")")
    return Point(variable, buffer, first)


def _check_point(point: Point, context: CheckContext) -> None:
    buffers = {buffer.name: buffer.elements for buffer in context.code.buffers}
    if point.buffer not in buffers:
        raise unknown_name(f"{context.place}, point:", "buffer", point.buffer, buffers)
    if not 0 <= point.first < buffers[point.buffer]:
        raise ProgramError(
            f"{context.place}, point: buffer {point.buffer} has no such element",
            value=point.first,
            instead=f"0 to {buffers[point.buffer] - 1}",
        )


def _encode_point(point: Point, encoder: Encoder) -> None:
    buffer = encoder.code.buffer(point.buffer)
    assert buffer is not None
    address = buffer.address + point.first * DTYPES[buffer.dtype]
    encoder.emit(at.I_SET, encoder.variable(point.variable), address)


POINT: Final = Kind(
    record=Point,
    words={"point": _parse_point},
    text=lambda point: (
        f"point {print_name(point.variable)} {print_name(point.buffer)}({point.first})"
    ),
    check=_check_point,
    encode=_encode_point,
)
