"""The text form of a program: one declaration per line, the same order as in the program.

    program gemv 2 x 2
    color x 0
    code head
      buffer A f32 [4, 3] @ 0
      mem1d column A extent 4 stride 3 offset 0
      input_queue 2 x
      task work entry
        loop k 3
          @fmacs y, y, column[k], x(k)

Descriptors with an offset are written `name[offset]`, elements of buffers `buffer(index)`,
numbers `#value`, values of counters `=expression`, registers `%dsr_file id`; names that are no
identifiers stand in double quotes. Indentation shows nesting. Equal programs print equally, and
`parsing.parse_program` reads the text back.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.simulator.compile.code.encode_fabric_change import CHANGES, Change
from tilewright.simulator.isa.dsd import (
    NO_OFFSET,
    Circbuf,
    CounterValue,
    Dsd,
    Element,
    Fabin,
    Fabout,
    Fifo,
    Immediate,
    Mem1d,
    Mem4d,
    Operand,
    Register,
)
from tilewright.simulator.program.program import (
    Activate,
    Add,
    Block,
    Compute,
    DsdOperation,
    ElementCode,
    If,
    Instruction,
    LoadRegister,
    Loop,
    Map,
    Program,
    Set,
    SetLength,
    Task,
    Unblock,
)
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.text.printing_special import (
    print_binding,
    print_changes,
    print_fabric,
    print_load,
    print_map,
    print_on_control,
    print_properties,
    print_ring,
    print_route,
    print_scalar,
)
from tilewright.simulator.text.tokens import print_index, print_name, print_number


def print_program(program: Program) -> str:
    """Return the text form of a program."""
    lines = [f"program {print_name(program.name)} {program.height} x {program.width}"]
    lines += [f"color {print_name(color.name)} {color.id}" for color in program.colors]
    for code in program.codes:
        lines += _code(code)
    for name, area in placement_areas(program):
        lines.append(f"place {print_name(name)} {area}")
    for route in program.routes:
        lines.append(f"route {print_name(route.color)} {route.area} {print_route(route)}")
    lines += [_edge("edge_input", port) for port in program.edge_inputs]
    lines += [_edge("edge_output", port) for port in program.edge_outputs]
    return "\n".join(lines) + "\n"


def placement_areas(program: Program) -> list[tuple[str, Area]]:
    """Return disjoint rectangles that cover the grid, each with its code, in reading order."""
    left = program.placement.copy()
    areas = []
    for row in range(program.height):
        for column in range(program.width):
            code = int(left[row, column])
            if code < 0:
                continue
            line = left[row, column:] == code
            width = line.size if line.all() else int(np.argmin(line))
            below = (left[row:, column : column + width] == code).all(axis=1)
            height = below.size if below.all() else int(np.argmin(below))
            left[row : row + height, column : column + width] = -1
            areas.append((program.codes[code].name, Area(row, column, height, width)))
    return areas


def print_body(body: tuple[Instruction, ...], depth: int = 0) -> Iterator[str]:
    """Yield the lines of a body of instructions."""
    pad = "  " * depth
    for instruction in body:
        match instruction:
            case DsdOperation():
                yield pad + _operation(instruction)
            case Loop(variable, count, inner):
                yield f"{pad}loop {print_name(variable)} {count}"
                yield from print_body(inner, depth + 1)
            case If(variable, below, then, otherwise):
                yield f"{pad}if {print_name(variable)} < {below}"
                yield from print_body(then, depth + 1)
                if otherwise:
                    yield f"{pad}else"
                    yield from print_body(otherwise, depth + 1)
            case Set(variable, value) | Add(variable, value):
                word = type(instruction).__name__.lower()
                yield f"{pad}{word} {print_name(variable)} {value}"
            case Map(_, _, inner):
                yield pad + print_map(instruction, _operand)
                yield from print_body(inner, depth + 1)
            case _:
                yield pad + _single(instruction)


def _single(
    instruction: Activate | Block | Unblock | Compute | SetLength | LoadRegister | Change,
) -> str:
    if isinstance(instruction, LoadRegister):
        return print_load(instruction)
    if isinstance(instruction, CHANGES):
        return print_fabric(instruction)
    if isinstance(instruction, Compute | SetLength):
        return print_scalar(instruction)
    return f"{type(instruction).__name__.lower()} {print_name(instruction.task)}"


def _code(code: ElementCode) -> Iterator[str]:
    yield f"code {print_name(code.name)}"
    for buffer in code.buffers:
        shape = ", ".join(str(n) for n in buffer.shape)
        yield f"  buffer {print_name(buffer.name)} {buffer.dtype} [{shape}] @ {buffer.address}"
    for dsd in code.dsds:
        yield f"  {_dsd(dsd)}"
    for kind, queues in (("input", code.input_queues), ("output", code.output_queues)):
        for queue in queues:
            priority = f" priority {print_name(queue.priority)}" if queue.priority else ""
            yield f"  {kind}_queue {queue.id} {print_name(queue.color)}{priority}"
    if code.main_priority != "medium_low":
        yield f"  main_priority {print_name(code.main_priority)}"
    for load in code.loads:
        yield f"  {print_load(load)}"
    for task in code.tasks:
        yield f"  {_task(task)}"
        yield from print_body(task.body, 2)


def _task(task: Task) -> str:
    marks = [mark for mark, on in (("entry", task.entry), ("blocked", task.blocked)) if on]
    return " ".join(["task", print_name(task.name), *marks]) + print_binding(task)


def _dsd(dsd: Dsd) -> str:
    if isinstance(dsd, Circbuf | Fifo):
        return print_ring(dsd)
    return _plain_dsd(dsd) + print_properties(dsd)


def _plain_dsd(dsd: Mem1d | Mem4d | Fabin | Fabout) -> str:
    name = print_name(dsd.name)
    if isinstance(dsd, Mem1d):
        return (
            f"mem1d {name} {print_name(dsd.buffer)} extent {dsd.extent} stride {dsd.stride} "
            f"offset {dsd.offset}"
        )
    if isinstance(dsd, Mem4d):
        extents = ", ".join(str(n) for n in dsd.extents)
        strides = ", ".join(str(n) for n in dsd.strides)
        return (
            f"mem4d {name} {print_name(dsd.buffer)} extent [{extents}] stride [{strides}] "
            f"offset {dsd.offset}"
        )
    kind = "fabin" if isinstance(dsd, Fabin) else "fabout"
    return f"{kind} {name} queue {dsd.queue} extent {dsd.extent}"


def _operation(op: DsdOperation) -> str:
    operands = ", ".join(_operand(operand) for operand in (op.dest, *op.sources))
    text = f"@{op.operation} {operands}"
    if op.asynchronous:
        text += " async"
    if op.microthread is not None:
        text += f" ut {op.microthread}"
    if op.activate is not None:
        text += f" activate {print_name(op.activate)}"
    if op.unblock is not None:
        text += f" unblock {print_name(op.unblock)}"
    if op.on_control is not None:
        text += print_on_control(op.on_control)
    if op.index is not None:
        text += f" index ({print_index(op.index)})"
    if op.result is not None:
        text += f" result {print_name(op.result)}"
    if op.priority:
        text += f" priority {print_name(op.priority)}"
    return text + (f" label {print_name(op.label)}" if op.label else "")


def _operand(operand: Operand) -> str:
    if isinstance(operand, Immediate):
        return f"#{print_number(operand.value)}"
    if isinstance(operand, Element):
        return f"{print_name(operand.buffer)}({print_index(operand.index)})"
    if isinstance(operand, CounterValue):
        return f"={print_index(operand.index)}"
    if isinstance(operand, Register):
        return f"%{operand}"
    name = print_name(operand.dsd)
    name += "" if operand.offset == NO_OFFSET else f"[{print_index(operand.offset)}]"
    return name + print_changes(operand)


def _edge(kind: str, port: EdgeInput | EdgeOutput) -> str:
    last = port.first + port.positions
    text = (
        f"{kind} {print_name(port.name)} side {port.side} [{port.first}:{last}] "
        f"color {print_name(port.color)} {port.dtype} count {port.count}"
    )
    if isinstance(port, EdgeInput):
        text += f" interval {port.interval} start {port.start}"
        text += " control" if port.control else ""
    return text
