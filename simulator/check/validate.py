"""Checks of a program that need no profile: names, forms, extents, bounds, routes' shapes.

The kinds of descriptors and of instructions check their own parts; this file says in which order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.check.field_types import check_fields
from tilewright.simulator.check.limits import unknown_name
from tilewright.simulator.check.route_check import check_routes_and_ports
from tilewright.simulator.check.task_check import (
    check_empty_handlers,
    check_one_queue_per_color,
    check_tasks,
    check_teardown_tasks,
)
from tilewright.simulator.compile.families.code_families import check_once, twin_key
from tilewright.simulator.descriptors.table import descriptor_kind
from tilewright.simulator.instructions.kind import (
    Body,
    CheckContext,
    ColorContext,
    Counts,
    ProgramContext,
    no_check,
)
from tilewright.simulator.instructions.register_load import check_load
from tilewright.simulator.instructions.table import kind_of
from tilewright.simulator.isa.dsd import Buffer
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.program import ElementCode, Program, Task
from tilewright.simulator.program.routes import EdgeInput, EdgeOutput
from tilewright.simulator.text.tokens import MAX_DEPTH

_CHECKED: Final = IdentityCache(4)
_CODES: Final = IdentityCache(256)
"""Programs and codes that have passed."""


def check_program(program: Program) -> None:
    """Check all of a program that needs no machine profile: names, types, bounds, routes.

    Raises ProgramError for the first part that is wrong. The last programs that have passed are
    remembered and not checked again.
    """
    _CHECKED.of(program, "checked", lambda: _check_program(program))


def _check_program(program: Program) -> None:
    if not isinstance(program.name, str):
        raise ProgramError("the name of a program is a text", value=program.name)
    ports: tuple[EdgeInput | EdgeOutput, ...] = (*program.edge_inputs, *program.edge_outputs)
    place = f"program {program.name}"
    for part in (*program.colors, *program.routes, *ports):
        check_fields(part, place)
    _check_unique("code", [(code.name, code) for code in program.codes])
    _check_unique("color", [(color.name, color) for color in program.colors])
    _check_unique("color id", [(str(color.id), color) for color in program.colors])
    _check_unique("edge port", [(port.name, port) for port in ports])
    _check_placement(program)
    colors = frozenset(color.name for color in program.colors)
    for code in program.codes:
        check_code(code, colors)
        check_teardown_tasks(program, code)
        _check_instructions_in_program(program, code)
    check_routes_and_ports(program, colors)


def check_code(code: ElementCode, colors: frozenset[str]) -> None:
    """Check the program of one class of elements: names, types, forms, bounds, tasks.

    `colors`: names of the program's colors. Raises ProgramError. Codes that have passed are
    remembered and not checked again.
    """
    _CODES.of(code, colors, partial(_check_new_code, code, colors))


def _check_new_code(code: ElementCode, colors: frozenset[str]) -> None:
    check = partial(check_once, code, "program", partial(_check_code, colors=colors))
    if twin_key(code) is None:
        check()
        return
    _CODES.of(code, "family", check)  # colors are named by its queues alone
    _check_queue_colors(code, colors)


def _check_code(code: ElementCode, colors: frozenset[str]) -> None:
    _check_names(code)
    _check_buffers(code)
    _check_queue_colors(code, colors)
    for dsd in code.dsds:
        descriptor_kind(dsd).check(dsd, code, f"code {code.name}, DSD {dsd.name}")
    check_tasks(code)
    for load in code.loads:
        with ErrorSubject(load):
            check_load(code, load, f"code {code.name}, load of {load.register}", {})
    for task in code.tasks:
        _check_depth(task.body, f"code {code.name}, task {task.name}")
        _check_body(code, task, task.body, {})
    check_empty_handlers(code)
    _check_instructions_with_colors(code, colors)
    check_one_queue_per_color(code)


def _check_queue_colors(code: ElementCode, colors: frozenset[str]) -> None:
    for queue in (*code.input_queues, *code.output_queues):
        with ErrorSubject(queue):
            if queue.color not in colors:
                place = f"code {code.name}, queue {queue.id}:"
                raise unknown_name(place, "color", queue.color, colors)


def _check_names(code: ElementCode) -> None:
    """Refuse names and numbers that are declared twice."""
    inputs, outputs = code.input_queues, code.output_queues
    for kind, named in (
        ("buffer", [(buffer.name, buffer) for buffer in code.buffers]),
        ("DSD", [(dsd.name, dsd) for dsd in code.dsds]),
        ("task", [(task.name, task) for task in code.tasks]),
        ("input queue", [(str(queue.id), queue) for queue in inputs]),
        ("output queue", [(str(queue.id), queue) for queue in outputs]),
        ("input queue's color", [(queue.color, queue) for queue in inputs]),
        ("output queue's color", [(queue.color, queue) for queue in outputs]),
    ):
        _check_unique(f"code {code.name}: {kind}", named)


def _check_unique(kind: str, named: Sequence[tuple[str, object]]) -> None:
    if len({name for name, _ in named}) == len(named):
        return
    seen: set[str] = set()
    for name, part in named:
        with ErrorSubject(part):
            if name in seen:
                raise ProgramError(f"{kind} is declared twice", value=name)
        seen.add(name)


def _check_placement(program: Program) -> None:
    if program.placement.ndim != 2 or program.placement.size == 0:
        raise ProgramError("the grid has no elements", value=program.placement.shape)
    low, high = int(program.placement.min()), int(program.placement.max())
    if low < 0:
        row, column = np.argwhere(program.placement < 0)[0]
        raise ProgramError(f"element ({row}, {column}) has no code")
    if high >= len(program.codes):
        raise ProgramError("the placement names a code that does not exist", value=high)


def _check_buffers(code: ElementCode) -> None:
    for buffer in code.buffers:
        place = f"code {code.name}, buffer {buffer.name}"
        if buffer.dtype not in DTYPES:
            raise unknown_name(f"{place}:", "dtype", buffer.dtype, DTYPES)
        if not buffer.shape or min(buffer.shape) < 1:
            raise ProgramError(f"{place}: a dimension is not positive", value=buffer.shape)
        if buffer.address < 0 or buffer.address % DTYPES[buffer.dtype]:
            raise ProgramError(
                f"{place}: the address must be a multiple of the value's words",
                value=buffer.address,
            )
    _check_overlaps(code)


def _check_overlaps(code: ElementCode) -> None:
    """Refuse buffers that share words: nothing says which of them a word belongs to."""
    for buffer in code.buffers:
        if buffer.view_of:
            _check_view(code, buffer)
    arrays = [buffer for buffer in code.buffers if not buffer.view_of]
    ordered = sorted(arrays, key=lambda buffer: buffer.address)
    for first, second in pairwise(ordered):
        if first.address + first.words > second.address:
            raise ProgramError(
                f"code {code.name}, buffer {second.name}: lies in the words of {first.name}",
                value=f"word {second.address}",
                instead=f"@ {first.address + first.words} or more, or no address",
            )


def _check_view(code: ElementCode, view: Buffer) -> None:
    """Refuse a view that is not a piece of its buffer, or has another dtype."""
    place = f"code {code.name}, buffer {view.name}"
    buffer = code.buffer(view.view_of)
    if buffer is None or buffer.view_of or buffer.dtype != view.dtype:
        raise ProgramError(
            f"{place}: a view has the dtype of its buffer, which is no view itself",
            value=f"{view.dtype} of {view.view_of}",
        )
    first, last = view.address - buffer.address, view.address + view.words
    if first < 0 or last > buffer.address + buffer.words:
        raise ProgramError(
            f"{place}: the view leaves buffer {buffer.name} of {buffer.elements} elements",
            value=f"{view.elements} elements from {first // DTYPES[buffer.dtype]} on",
            instead=f"elements 0 to {buffer.elements - 1}",
        )


def _check_depth(body: Body, place: str) -> None:
    """Refuse bodies that are nested too deep for the checks that follow. Raises ProgramError."""
    pending = [(body, 0)]
    while pending:
        instructions, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise ProgramError(
                f"{place}: more than {MAX_DEPTH} bodies inside each other", value=depth
            )
        pending += [(inner, depth + 1) for part in instructions for inner in part.bodies]


def _check_body(code: ElementCode, task: Task, body: Body, counts: Counts) -> None:
    context = CheckContext(code, task.name, counts, partial(_check_body, code, task))
    for instruction in body:
        with ErrorSubject(instruction):
            kind_of(instruction).check(instruction, context)


def _check_instructions_with_colors(code: ElementCode, colors: frozenset[str]) -> None:
    for task, instruction in all_instructions(code):
        check = kind_of(instruction).check_colors
        if check is no_check:
            continue
        with ErrorSubject(instruction):
            check(instruction, ColorContext(code, colors, f"code {code.name}, task {task.name}"))


def _check_instructions_in_program(program: Program, code: ElementCode) -> None:
    for task, instruction in all_instructions(code):
        check = kind_of(instruction).check_program
        if check is no_check:
            continue
        with ErrorSubject(instruction):
            check(instruction, ProgramContext(program, code, f"code {code.name}, task {task.name}"))
