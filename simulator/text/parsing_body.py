"""Bodies of tasks of the text form: instructions, operands, register loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.simulator.isa.dsd import (
    FILES,
    NO_OFFSET,
    CounterValue,
    Element,
    Immediate,
    Operand,
    Ref,
    Register,
)
from tilewright.simulator.program.program import (
    Activate,
    Add,
    BindQueue,
    Block,
    BlockMicrothread,
    Compute,
    DsdOperation,
    EndTeardown,
    Flush,
    If,
    Instruction,
    LoadRegister,
    Loop,
    Map,
    OnControl,
    Set,
    SetLength,
    Unblock,
    Value,
)
from tilewright.simulator.text.parsing_routes import flag, parse_reconfigure
from tilewright.simulator.text.tokens import Line, Reader

Properties = dict[str, Callable[[Line], Any]]


def parse_body(reader: Reader, depth: int, where: str) -> tuple[Instruction, ...]:
    """Return the instructions of the next lines at a depth; `where` names the task in errors."""
    found: list[Instruction] = []
    while (line := reader.at(depth)) is not None:
        here = reader.here()
        if line.peek() == "else" and line.peek(1) == "":
            break
        if line.peek(1) not in ("=", "(") and line.peek() in NESTED:
            nested = NESTED[line.choose(tuple(NESTED), "")](reader, line, depth, where)
            found.append(reader.place(nested, here))
            continue
        found.append(reader.place(_single(reader, line, where), here))
        line.end()
        reader.advance()
    return tuple(found)


def _inner(reader: Reader, line: Line, depth: int, where: str) -> tuple[Instruction, ...]:
    line.end()
    reader.advance()
    return parse_body(reader, depth + 1, where)


def _loop(reader: Reader, line: Line, depth: int, where: str) -> Loop:
    name, count = line.name("the loop's variable"), line.integer("the number of turns")
    reader.declare(f"{where}, loop {name}")
    return Loop(name, count, _inner(reader, line, depth, where))


def _if(reader: Reader, line: Line, depth: int, where: str) -> If:
    name = line.name("a counter")
    line.expect("<")
    below = line.integer("the limit")
    then = _inner(reader, line, depth, where)
    other = reader.at(depth)
    if other is None or not (other.peek() == "else" and other.has("else")):
        return If(name, below, then)
    return If(name, below, then, _inner(reader, other, depth, where))


def _map(reader: Reader, line: Line, depth: int, where: str) -> Map:
    reader.declare(f"{where}, @map")
    inputs = []
    output = None
    while line.more and line.peek() != "to":
        name = line.name("a counter")
        line.expect("from")
        inputs.append((name, parse_operand(line)))
        if not line.has(","):
            break
    if line.has("to"):
        operand = parse_operand(line)
        line.expect("as")
        output = (line.name("a counter"), operand)
    return Map(tuple(inputs), output, _inner(reader, line, depth, where))


NESTED: Final[dict[str, Callable[[Reader, Line, int, str], Instruction]]] = {
    "loop": _loop,
    "if": _if,
    "map": _map,
}


def _single(reader: Reader, line: Line, where: str) -> Instruction:
    if line.peek().startswith("@"):
        return _operation(reader, line, where)
    if line.peek(1) in ("=", "("):
        return _compute(line)
    word = line.choose((*SINGLE, *NESTED), "instruction")
    return SINGLE[word](line)


def _counter(kind: type[Set] | type[Add]) -> Callable[[Line], Set | Add]:
    return lambda line: kind(line.name("a counter"), line.integer("the value"))


def _task(kind: type[Activate] | type[Block] | type[Unblock]) -> Callable[[Line], Instruction]:
    return lambda line: kind(line.name("a task"))


def _length(reads: bool) -> Callable[[Line], Instruction]:
    return lambda line: SetLength(line.name("a FIFO"), reads, line.integer("the length"))


def parse_load(line: Line) -> LoadRegister:
    """Return the rest of a `load` line."""
    held = register(line)
    name = line.name("a descriptor")
    offset = _bracket(line, "[", "]") if line.peek() == "[" else NO_OFFSET
    strides = []
    given: dict[str, Any] = {}
    while line.more:
        key = line.choose((*LOAD, "sr"), "property of a load")
        if key == "sr":
            strides.append(line.integer("a stride register"))
        else:
            given[key] = LOAD[key](line)
    for key, renamed in RENAMED:
        if key in given:
            given[renamed] = given.pop(key)
    return LoadRegister(held, name, offset, strides=tuple(strides), **given)


def _end_teardown(line: Line) -> EndTeardown:
    color = line.name("a color")
    return EndTeardown(color, line.integer("a position") if line.has("position") else None)


def _bind(output: bool) -> Callable[[Line], Instruction]:
    return lambda line: BindQueue(line.integer("a queue"), output, line.name("a color"))


def _flush(output: bool) -> Callable[[Line], Instruction]:
    return lambda line: Flush(line.integer("a queue"), output)


def _pause(blocks: bool) -> Callable[[Line], Instruction]:
    return lambda line: BlockMicrothread(line.integer("a microthread"), blocks)


SINGLE: Final[dict[str, Callable[[Line], Instruction]]] = {
    "set": _counter(Set),
    "add": _counter(Add),
    "activate": _task(Activate),
    "block": _task(Block),
    "unblock": _task(Unblock),
    "read_length": _length(True),
    "write_length": _length(False),
    "load": parse_load,
    "end_teardown": _end_teardown,
    "reconfigure": parse_reconfigure,
    "bind_input": _bind(False),
    "bind_output": _bind(True),
    "flush_input": _flush(False),
    "flush_output": _flush(True),
    "block_ut": _pause(True),
    "unblock_ut": _pause(False),
}


def _compute(line: Line) -> Compute:
    dest = value(line)
    line.expect("=")
    operation = line.name("a scalar operation")
    line.expect(".")
    dtype = line.name("a dtype")
    sources = [value(line)]
    while line.has(","):
        sources.append(value(line))
    return Compute(dest, operation, tuple(sources), dtype)


def value(line: Line) -> Value:
    """Return a scalar: a counter, an element `buffer(index)`, a number."""
    if line.peek().startswith("#"):
        return Immediate(line.number())
    name = line.name("a counter, buffer(index) or #number")
    return Element(name, _bracket(line, "(", ")")) if line.peek() == "(" else name


def _operation(reader: Reader, line: Line, where: str) -> DsdOperation:
    name = line.marked("@", "an operation")
    operands = [parse_operand(line)]
    while line.has(","):
        operands.append(parse_operand(line))
    given = line.settings(OPERATION, "property of an operation")
    for key, renamed in RENAMED:
        if key in given:
            given[renamed] = given.pop(key)
    label = f" ({given['label']})" if given.get("label") else ""
    reader.declare(f"{where}, @{name}{label}")
    return DsdOperation(name, operands[0], tuple(operands[1:]), **given)


def parse_operand(line: Line) -> Operand:
    """Return a descriptor, an element, a number, a counter's value or a register."""
    if line.peek().startswith("#"):
        return Immediate(line.number())
    if line.has("="):
        return CounterValue(line.index())
    if line.peek().startswith("%"):
        return register(line)
    if line.peek()[:1] in "-.0123456789":
        raise line.fail("here stands an operand", value=line.peek(), instead=f"#{line.peek()}")
    name = line.name("an operand")
    if line.peek() == "(":
        return Element(name, _bracket(line, "(", ")"))
    offset = _bracket(line, "[", "]") if line.peek() == "[" else NO_OFFSET
    return Ref(name, offset, *_changes(line))


def _changes(line: Line) -> tuple[Any, Any, Any]:
    """Return length, stride and base of `{of v length n stride n}`, None for what is not there."""
    found: dict[str, Any] = {}
    if line.has("{"):
        while not line.has("}"):
            word = line.choose(("of", "length", "stride"), "change of a descriptor")
            found[word] = line.name("a buffer") if word == "of" else line.index()
    return found.get("length"), found.get("stride"), found.get("of")


def register(line: Line) -> Register:
    """Return `%dsr_file number`, `%dsr_fifo_file number`."""
    column = line.column
    text = line.marked("%", "a register")
    fifo = text.startswith("dsr_fifo_")
    file = text.removeprefix("dsr_fifo_" if fifo else "dsr_")
    if not text.startswith("dsr_") or file not in FILES:
        raise line.fail(
            "unknown register file",
            column,
            value=text,
            instead="%dsr_dest, %dsr_src0, %dsr_src1, %dsr_fifo_dest or %dsr_fifo_src1",
        )
    return Register(file, line.integer("the register's number"), fifo)


RENAMED: Final = (("async", "asynchronous"), ("ut", "microthread"))


def _bracket(line: Line, start: str, end: str) -> Any:
    line.expect(start)
    found = line.index()
    line.expect(end)
    return found


def _on_control(line: Line) -> OnControl:
    action = line.choose(("terminate", "activate", "unblock"), "on_control")
    return OnControl(action, None if action == "terminate" else line.name("a task"))


_ENDS: Final[Properties] = {
    "async": flag,
    "activate": Line.name,
    "unblock": Line.name,
    "on_control": _on_control,
}
OPERATION: Final[Properties] = {
    **_ENDS,
    "ut": Line.integer,
    "index": lambda line: _bracket(line, "(", ")"),
    "result": Line.name,
    "priority": Line.name,
    "label": Line.name,
}
LOAD: Final[Properties] = {
    **_ENDS,
    "xdsr": Line.integer,
    "ut": Line.integer,
    "save_address": flag,
    "single_step": flag,
}
