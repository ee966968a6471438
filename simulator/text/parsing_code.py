"""Codes of the text form: buffers, descriptors, queues, loads and tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tilewright.simulator.descriptors.table import DESCRIPTOR_WORDS
from tilewright.simulator.instructions.register_load import parse_load
from tilewright.simulator.isa.dsd import Buffer, Dsd
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.program.instruction import LoadRegister
from tilewright.simulator.program.program import ElementCode, Queue, Task
from tilewright.simulator.text.parsing_body import parse_body
from tilewright.simulator.text.parsing_descriptor import (
    parse_stream_of_color,
    parse_tensor_access,
    parse_view,
)
from tilewright.simulator.text.tokens import Line, Properties, Reader, flag


@dataclass(slots=True)
class _CodeDeclarations:
    """What was declared of a code so far."""

    name: str
    buffers: list[Buffer] = field(default_factory=list)
    dsds: list[Dsd] = field(default_factory=list)
    input_queues: list[Queue] = field(default_factory=list)
    output_queues: list[Queue] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    loads: list[LoadRegister] = field(default_factory=list)
    main_priority: str = "medium_low"
    next_word: int = 0
    """The first word behind all buffers so far."""


def parse_code(reader: Reader, name: str) -> ElementCode:
    """Return the code (program of one class of elements) of the next lines, indented by one step.

    `name`: of the code. Raises ProgramError with line and column; names are not looked up yet.
    """
    code = _CodeDeclarations(name)
    words = (*DESCRIPTOR_WORDS, "buffer", *QUEUES, "load", "task", "main_priority")
    while (line := reader.at(1)) is not None:
        word = line.choose(words, "declaration of a code")
        if word == "task":
            code.tasks.append(_task(reader, line, name))
            continue
        _declare(reader, line, word, code)
        line.end()
        reader.advance()
    return ElementCode(
        name,
        tuple(code.buffers),
        tuple(code.dsds),
        tuple(code.input_queues),
        tuple(code.output_queues),
        tuple(code.tasks),
        tuple(code.loads),
        code.main_priority,
    )


def _declare(reader: Reader, line: Line, word: str, code: _CodeDeclarations) -> None:
    """Read a declaration of one line."""
    start, place = reader.here(), f"code {code.name}"
    if word == "buffer":
        code.buffers.append(reader.place(_buffer(line, code), start))
        reader.declare(f"{place}, buffer {code.buffers[-1].name}")
    elif word == "main_priority":
        code.main_priority = line.name("a priority")
    elif word in QUEUES:
        number, color = line.integer("a queue's number"), line.name("a color's name")
        queue = Queue(number, color, **line.settings(QUEUE_PROPERTIES, "property of a queue"))
        getattr(code, word + "s").append(reader.place(queue, start))
        reader.declare(f"{place}, queue {queue.id}")
        reader.declare(f"{place}, {word.replace('_', ' ')} {queue.id}")
    elif word == "load":
        code.loads.append(reader.place(parse_load(line), start))
        reader.declare(f"{place}, load of {code.loads[-1].register}")
    else:
        code.dsds.append(reader.place(_descriptor(line, word, code), start))
        reader.declare(f"{place}, DSD {code.dsds[-1].name}")


def _descriptor(line: Line, word: str, code: _CodeDeclarations) -> Dsd:
    """Read a descriptor; one that names a color or a tensor access uses declarations above it."""
    if line.peek(1) == "tensor_access":
        return parse_tensor_access(line, word, code.name, code.buffers)
    if line.peek(1) == "color":
        queues = code.input_queues if word == "fabin" else code.output_queues
        return parse_stream_of_color(line, word, code.name, queues)
    dsd: Dsd = DESCRIPTOR_WORDS[word].parse(line)
    return dsd


QUEUES: Final = ("input_queue", "output_queue")
QUEUE_PROPERTIES: Final[Properties] = {"priority": Line.name}


def _buffer(line: Line, code: _CodeDeclarations) -> Buffer:
    name = line.name("the buffer's name")
    dtype = line.choose(tuple(DTYPES), "dtype")
    shape = line.integers()
    if line.peek() == "of":
        return parse_view(line, Buffer(name, dtype, shape, 0), code.buffers)
    address = code.next_word + code.next_word % 2
    view_of = ""
    if line.more:
        line.expect("@")
        address = line.integer("the first word's address")
        view_of = line.name("a buffer") if line.has("of") else ""
    buffer = Buffer(name, dtype, shape, address, view_of)
    code.next_word = max(code.next_word, address + buffer.words)
    return buffer


def _task(reader: Reader, line: Line, code: str) -> Task:
    name = line.name("the task's name")
    reader.declare(f"code {code}, task {name}")
    start = reader.here()
    given: dict[str, Any] = {}
    while line.more and line.peek(1) != ":":
        word = line.choose(tuple(TASK_PROPERTIES), "property of a task")
        given[word] = TASK_PROPERTIES[word](line)
    arguments = []
    while line.more:
        argument = line.name("an argument")
        line.expect(":")
        arguments.append((argument, line.name("a dtype")))
    line.end()
    reader.advance()
    body = parse_body(reader, 2, f"code {code}, task {name}")
    return reader.place(Task(name, body, arguments=tuple(arguments), **given), start)


TASK_PROPERTIES: Final[Properties] = {
    "entry": flag,
    "blocked": flag,
    "queue": Line.integer,
    "control": Line.integer,
    "teardown": Line.name,
    "empty_input": Line.integer,
    "empty_output": Line.integer,
}
