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

from tilewright.simulator.descriptors.table import descriptor_kind
from tilewright.simulator.instructions.kind import Body
from tilewright.simulator.instructions.register_load import load_text
from tilewright.simulator.instructions.table import kind_of
from tilewright.simulator.program.areas import equal_areas
from tilewright.simulator.program.program import ElementCode, Program, Task
from tilewright.simulator.text.route_text import edge_text, route_text
from tilewright.simulator.text.tokens import print_name, print_settings


def print_program(program: Program) -> str:
    """Return the text form of a program, which `parse_program` reads back to an equal one."""
    lines = [f"program {print_name(program.name)} {program.height} x {program.width}"]
    lines += [f"color {print_name(color.name)} {color.id}" for color in program.colors]
    for code in program.codes:
        lines += _code(code)
    for area, number in equal_areas(program.placement):
        lines.append(f"place {print_name(program.codes[number].name)} {area}")
    for route in program.routes:
        lines.append(f"route {print_name(route.color)} {route.area} {route_text(route)}")
    lines += map(edge_text, program.edge_inputs)
    lines += map(edge_text, program.edge_outputs)
    return "\n".join(lines) + "\n"


def print_body(body: Body, depth: int = 0) -> Iterator[str]:
    """Yield the lines of a body of instructions, indented by `depth` steps of two blanks.

    The second body of an instruction follows a line `else`.
    """
    pad = "  " * depth
    for instruction in body:
        yield pad + kind_of(instruction).text(instruction)
        for number, inner in enumerate(instruction.bodies):
            if number and inner:
                yield f"{pad}else"
            yield from print_body(inner, depth + 1)


def _code(code: ElementCode) -> Iterator[str]:
    yield f"code {print_name(code.name)}"
    for buffer in code.buffers:
        shape = ", ".join(str(n) for n in buffer.shape)
        view = f" of {print_name(buffer.view_of)}" if buffer.view_of else ""
        name = f"{print_name(buffer.name)} {buffer.dtype} [{shape}]"
        yield f"  buffer {name} @ {buffer.address}{view}"
    for dsd in code.dsds:
        yield f"  {descriptor_kind(dsd).text(dsd)}"
    for kind, queues in (("input", code.input_queues), ("output", code.output_queues)):
        for queue in queues:
            priority = print_settings(queue, ("priority",))
            yield f"  {kind}_queue {queue.id} {print_name(queue.color)}{priority}"
    if code.main_priority != "medium_low":
        yield f"  main_priority {print_name(code.main_priority)}"
    for load in code.loads:
        yield f"  {load_text(load)}"
    for task in code.tasks:
        yield f"  {_task(task)}"
        yield from print_body(task.body, 2)


def _task(task: Task) -> str:
    marks = [mark for mark, on in (("entry", task.entry), ("blocked", task.blocked)) if on]
    return " ".join(["task", print_name(task.name), *marks]) + _starts(task)


def _starts(task: Task) -> str:
    """Return what starts a task, empty for one that others activate."""
    numbers = (("queue", task.queue), ("control", task.control))
    text = "".join(f" {word} {number}" for word, number in numbers if number is not None)
    text += f" teardown {print_name(task.teardown)}" if task.teardown is not None else ""
    queues = (("empty_input", task.empty_input), ("empty_output", task.empty_output))
    text += "".join(f" {word} {number}" for word, number in queues if number is not None)
    return text + "".join(f" {print_name(name)}:{dtype}" for name, dtype in task.arguments)
