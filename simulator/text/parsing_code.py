"""Codes of the text form: buffers, descriptors, queues, loads and tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tilewright.simulator.isa.dsd import (
    DTYPES,
    Buffer,
    Circbuf,
    Dsd,
    Fabin,
    Fabout,
    Fifo,
    Mem1d,
    Mem4d,
)
from tilewright.simulator.program.program import ElementCode, LoadRegister, Queue, Task
from tilewright.simulator.text.parsing_body import parse_body, parse_load
from tilewright.simulator.text.parsing_routes import flag
from tilewright.simulator.text.tokens import Line, Reader

Properties = dict[str, Callable[[Line], Any]]


@dataclass(slots=True)
class _CodeDeclarations:
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
    """Return the code whose declarations stand in the next lines, indented."""
    found = _CodeDeclarations(name)
    while (line := reader.at(1)) is not None:
        word = line.choose(
            (*DSDS, "buffer", *QUEUES, "load", "task", "main_priority"), "declaration of a code"
        )
        if word == "task":
            found.tasks.append(_task(reader, line, name))
            continue
        if word == "buffer":
            found.buffers.append(reader.place(_buffer(line, found), reader.here()))
            reader.declare(f"code {name}, buffer {found.buffers[-1].name}")
        elif word == "main_priority":
            found.main_priority = line.name("a priority")
        elif word in QUEUES:
            names = line.integer("a queue's number"), line.name("a color's name")
            queue = Queue(*names, **line.settings(QUEUE, "property of a queue"))
            getattr(found, word + "s").append(reader.place(queue, reader.here()))
            reader.declare(f"code {name}, queue {queue.id}")
            reader.declare(f"code {name}, {word.replace('_', ' ')} {queue.id}")
        elif word == "load":
            found.loads.append(reader.place(parse_load(line), reader.here()))
            reader.declare(f"code {name}, load of {found.loads[-1].register}")
        else:
            found.dsds.append(reader.place(DSDS[word](line), reader.here()))
            reader.declare(f"code {name}, DSD {found.dsds[-1].name}")
        line.end()
        reader.advance()
    return ElementCode(
        name,
        tuple(found.buffers),
        tuple(found.dsds),
        tuple(found.input_queues),
        tuple(found.output_queues),
        tuple(found.tasks),
        tuple(found.loads),
        found.main_priority,
    )


QUEUES: Final = ("input_queue", "output_queue")
QUEUE: Final[Properties] = {"priority": Line.name}


def _buffer(line: Line, found: _CodeDeclarations) -> Buffer:
    name = line.name("the buffer's name")
    dtype = line.choose(tuple(DTYPES), "dtype")
    shape = line.integers()
    address = found.next_word + found.next_word % 2
    if line.more:
        line.expect("@")
        address = line.integer("the first word's address")
    made = Buffer(name, dtype, shape, address)
    found.next_word = max(found.next_word, address + made.words)
    return made


def _names(line: Line) -> tuple[str, str]:
    return line.name("the descriptor's name"), line.name("a buffer's name")


def _mem1d(line: Line) -> Mem1d:
    names = _names(line)
    return Mem1d(*names, **line.settings(MEM1D, "property of mem1d", ("extent",)))


def _mem4d(line: Line) -> Mem4d:
    names = _names(line)
    given = line.settings(MEM4D, "property of mem4d", ("extent", "stride"))
    return Mem4d(*names, given.pop("extent"), given.pop("stride"), **given)


def _circbuf(line: Line) -> Circbuf:
    names = _names(line)
    return Circbuf(*names, **line.settings(CIRCBUF, "property of circbuf", ("extent",)))


def _fifo(line: Line) -> Fifo:
    names = _names(line)
    given = line.settings(FIFO, "property of a FIFO")
    renamed = {"empty": "empty_action", "full": "full_action"}
    return Fifo(*names, **{renamed.get(key, key): value for key, value in given.items()})


def _fabin(line: Line) -> Fabin:
    name = line.name("the descriptor's name")
    return Fabin(name, **line.settings(FABIN, "property of fabin", ("queue", "extent")))


def _fabout(line: Line) -> Fabout:
    name = line.name("the descriptor's name")
    return Fabout(name, **line.settings(FABOUT, "property of fabout", ("queue", "extent")))


DSDS: Final[dict[str, Callable[[Line], Dsd]]] = {
    "mem1d": _mem1d,
    "mem4d": _mem4d,
    "circbuf": _circbuf,
    "fifo": _fifo,
    "fabin": _fabin,
    "fabout": _fabout,
}
_MEMORY: Final[Properties] = {"offset": Line.integer, "wavelet_index_offset": flag}
MEM1D: Final[Properties] = {"extent": Line.integer, "stride": Line.integer, **_MEMORY}
MEM4D: Final[Properties] = {"extent": Line.integers, "stride": Line.integers, **_MEMORY}
CIRCBUF: Final[Properties] = {"extent": Line.integer, "wraparound": Line.integer}
FIFO: Final[Properties] = {
    "empty": Line.name,
    "full": Line.name,
    "activate_pop": Line.name,
    "activate_push": Line.name,
    "priority": Line.name,
    "simd": Line.name,
    "dest": Line.integer,
    "src": Line.integer,
    "xdsr": Line.integer,
}
_FABRIC: Final[Properties] = {
    "queue": Line.integer,
    "extent": Line.integer,
    "control_transform": flag,
    "priority": Line.name,
    "simd": Line.name,
}
FABIN: Final[Properties] = {**_FABRIC}
FABOUT: Final[Properties] = {
    **_FABRIC,
    "control": flag,
    "advance_switch": flag,
    "wavelet_index_offset": flag,
    "zero": Line.name,
}


def _task(reader: Reader, line: Line, code: str) -> Task:
    name = line.name("the task's name")
    reader.declare(f"code {code}, task {name}")
    here = reader.here()
    given: dict[str, Any] = {}
    while line.more and line.peek(1) != ":":
        key = line.choose(tuple(TASK), "property of a task")
        given[key] = TASK[key](line)
    arguments = []
    while line.more:
        argument = line.name("an argument")
        line.expect(":")
        arguments.append((argument, line.name("a dtype")))
    line.end()
    reader.advance()
    body = parse_body(reader, 2, f"code {code}, task {name}")
    return reader.place(Task(name, body, arguments=tuple(arguments), **given), here)


TASK: Final[Properties] = {
    "entry": flag,
    "blocked": flag,
    "queue": Line.integer,
    "control": Line.integer,
    "teardown": Line.name,
    "empty_input": Line.integer,
    "empty_output": Line.integer,
}
