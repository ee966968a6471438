"""Checks of a program that need no profile: names, forms, extents, bounds, routes' shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import pairwise

import numpy as np

from tilewright.simulator.check.known_counters import counters_set, guarded, without
from tilewright.simulator.check.load_check import check_load
from tilewright.simulator.check.queue_check import check_queue_changes
from tilewright.simulator.check.teardown_check import check_teardowns
from tilewright.simulator.check.validate_special import (
    check_fabric_properties,
    check_index,
    check_map,
    check_ring,
    check_special_instruction,
    check_special_operation,
    check_steering,
    check_tasks,
    has_register,
)
from tilewright.simulator.compile.code.code_families import check_once
from tilewright.simulator.isa.dsd import (
    DTYPES,
    ENDLESS,
    Circbuf,
    Dsd,
    Fabin,
    Fabout,
    Fifo,
    Mem4d,
)
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.isa.memo import IdentityCache, ValueCache
from tilewright.simulator.isa.operands import (
    ResolvedOperation,
    check_bounds,
    operation_name,
    resolve,
)
from tilewright.simulator.program.field_types import check_fields
from tilewright.simulator.program.program import (
    Activate,
    Add,
    Block,
    DsdOperation,
    ElementCode,
    If,
    Instruction,
    Loop,
    Map,
    Program,
    Set,
    Task,
    Unblock,
)
from tilewright.simulator.program.routes import PORTS, SWAPS, EdgeInput, EdgeOutput, Route
from tilewright.simulator.text.tokens import MAX_DEPTH

MAX_EXTENT = 65535
"""Extents are u16 in the descriptors' documentation."""
MAX_FABRIC_EXTENT = 0x7FFE
"""0x7fff stands for an endless stream (wafer.md §4.1)."""
LARGEST = (1 << 31) - 1
"""Greatest size of a count, counter or offset."""
MAX_STREAM = 1 << 26
"""Wavelets of one edge port; the engine holds them all, 16 bytes each."""
STRIDE_1D = (-128, 127)
STRIDE_4D = (-32768, 32767)
_CHECKED = IdentityCache(4)
_CODES = IdentityCache(256)
_OPERATIONS = ValueCache(1024)
"""What has passed; codes have operations in common."""


def check_program(program: Program) -> None:
    """Refuse a program whose parts do not fit together. Raises ProgramError.

    A builder has checked its program already when a machine asks again.
    """
    _CHECKED.of(program, "checked", lambda: _check_program(program))


def _check_program(program: Program) -> None:
    if not isinstance(program.name, str):
        raise ProgramError("the name of a program is a text", value=program.name)
    for part in (program.colors, program.routes, program.edge_inputs, program.edge_outputs):
        for one in part:
            check_fields(one, f"program {program.name}")
    _unique("code", [(code.name, code) for code in program.codes])
    _unique("color", [(color.name, color) for color in program.colors])
    _unique("color id", [(str(color.id), color) for color in program.colors])
    inputs = [(port.name, port) for port in program.edge_inputs]
    _unique("edge port", [*inputs, *((port.name, port) for port in program.edge_outputs)])
    _check_placement(program)
    colors = frozenset(color.name for color in program.colors)
    for code in program.codes:
        check_code(code, colors)
        check_teardowns(program, code)
    _check_ports(program, colors)


def check_code(code: ElementCode, colors: frozenset[str]) -> None:
    """Refuse a code that names what it does not have. Raises ProgramError.

    Candidates have codes in common (`builder`): one that has passed is not checked again.
    """
    check = partial(_check_code, colors=colors)
    _CODES.of(code, colors, partial(check_once, code, colors, check))


def _check_code(code: ElementCode, colors: frozenset[str]) -> None:
    for what, named in (
        ("buffer", [(b.name, b) for b in code.buffers]),
        ("DSD", [(d.name, d) for d in code.dsds]),
        ("task", [(t.name, t) for t in code.tasks]),
        ("input queue", [(str(q.id), q) for q in code.input_queues]),
        ("output queue", [(str(q.id), q) for q in code.output_queues]),
        ("input queue's color", [(q.color, q) for q in code.input_queues]),
        ("output queue's color", [(q.color, q) for q in code.output_queues]),
    ):
        _unique(f"code {code.name}: {what}", named)
    _check_buffers(code)
    for queue in (*code.input_queues, *code.output_queues):
        with ErrorSubject(queue):
            if queue.color not in colors:
                raise _unknown(f"code {code.name}, queue {queue.id}:", "color", queue.color, colors)
    for dsd in code.dsds:
        _check_dsd(code, dsd)
    check_tasks(code)
    for load in code.loads:
        with ErrorSubject(load):
            check_load(code, load, f"code {code.name}, load of {load.register}")
    for task in code.tasks:
        _check_depth(task.body, f"code {code.name}, task {task.name}")
        _check_body(code, task, task.body, {})
    check_queue_changes(code, colors)


def _unique(what: str, named: Iterable[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for name, part in named:
        with ErrorSubject(part):
            if name in seen:
                raise ProgramError(f"{what} is declared twice", value=name)
        seen.add(name)


def _unknown(where: str, what: str, name: str, known: Iterable[str]) -> ProgramError:
    shown = ", ".join(sorted(known)) or "(none)"
    return ProgramError(f"{where} unknown {what}", value=name, instead=f"one of {shown}")


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
        where = f"code {code.name}, buffer {buffer.name}"
        if buffer.dtype not in DTYPES:
            raise _unknown(f"{where}:", "dtype", buffer.dtype, DTYPES)
        if not buffer.shape or min(buffer.shape) < 1:
            raise ProgramError(f"{where}: a dimension is not positive", value=buffer.shape)
        if buffer.address < 0 or buffer.address % DTYPES[buffer.dtype]:
            raise ProgramError(
                f"{where}: the address must be a multiple of the value's words",
                value=buffer.address,
            )
    _check_overlaps(code)


def _check_overlaps(code: ElementCode) -> None:
    """Refuse buffers that share words: nothing says which of them a word belongs to."""
    ordered = sorted(code.buffers, key=lambda buffer: buffer.address)
    for first, second in pairwise(ordered):
        if first.address + first.words > second.address:
            raise ProgramError(
                f"code {code.name}, buffer {second.name}: lies in the words of {first.name}",
                value=f"word {second.address}",
                instead=f"@ {first.address + first.words} or more, or no address",
            )


def _check_dsd(code: ElementCode, dsd: Dsd) -> None:
    where = f"code {code.name}, DSD {dsd.name}"
    if isinstance(dsd, Fabin | Fabout):
        _check_fabric_dsd(code, dsd, where)
        return
    if isinstance(dsd, Circbuf | Fifo):
        check_ring(code, dsd)
        return
    extents = dsd.extents if isinstance(dsd, Mem4d) else (dsd.extent,)
    strides = dsd.strides if isinstance(dsd, Mem4d) else (dsd.stride,)
    low, high = STRIDE_4D if isinstance(dsd, Mem4d) else STRIDE_1D
    if not 1 <= len(extents) <= 4 or len(extents) != len(strides):
        raise ProgramError(f"{where}: between one and four dimensions", value=extents)
    if min(extents) < 1 or max(extents) > MAX_EXTENT:
        raise ProgramError(f"{where}: an extent is outside 1..{MAX_EXTENT}", value=extents)
    _check_number(where, dsd.extent)
    if min(strides) < low or max(strides) > high:
        raise ProgramError(
            f"{where}: a stride is outside {low}..{high}",
            value=strides,
            instead="mem4d has 16-bit strides" if not isinstance(dsd, Mem4d) else None,
        )


def _check_fabric_dsd(code: ElementCode, dsd: Fabin | Fabout, where: str) -> None:
    bound = code.input_queues if isinstance(dsd, Fabin) else code.output_queues
    kind = "input" if isinstance(dsd, Fabin) else "output"
    if dsd.queue not in {queue.id for queue in bound}:
        raise ProgramError(
            f"{where}: {kind} queue {dsd.queue} is not bound to a color", value=dsd.queue
        )
    check_fabric_properties(dsd, where)
    if not 1 <= dsd.extent <= MAX_FABRIC_EXTENT and dsd.extent != ENDLESS:
        raise ProgramError(
            f"{where}: a fabric extent is outside 1..{MAX_FABRIC_EXTENT}",
            value=dsd.extent,
            instead=f"{ENDLESS} for an operation that does not end by itself",
        )


def _check_depth(body: tuple[Instruction, ...], where: str) -> None:
    """Refuse what the checks behind could not walk through. Raises ProgramError."""
    pending = [(body, 0)]
    while pending:
        inner, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise ProgramError(
                f"{where}: more than {MAX_DEPTH} bodies inside each other", value=depth
            )
        for instruction in inner:
            if isinstance(instruction, Loop | Map):
                pending.append((instruction.body, depth + 1))
            elif isinstance(instruction, If):
                pending += [(instruction.then, depth + 1), (instruction.otherwise, depth + 1)]


def _check_body(
    code: ElementCode, task: Task, body: tuple[Instruction, ...], counts: Mapping[str, int]
) -> None:
    for instruction in body:
        with ErrorSubject(instruction):
            _check_instruction(code, task, instruction, counts)


def _check_instruction(
    code: ElementCode, task: Task, instruction: Instruction, counts: Mapping[str, int]
) -> None:
    if isinstance(instruction, DsdOperation):
        _check_operation(code, task, instruction, counts)
    elif isinstance(instruction, Map):
        check_map(code, task, instruction, counts)
        _check_body(code, task, instruction.body, counts)
    elif isinstance(instruction, Loop):
        _check_loop(code, task, instruction, counts)
    elif isinstance(instruction, Set | Add):
        _check_number(f"code {code.name}, task {task.name}", instruction.value)
    elif isinstance(instruction, If):
        _check_number(f"code {code.name}, task {task.name}", instruction.below)
        _check_body(code, task, instruction.then, guarded(counts, instruction))
        _check_body(code, task, instruction.otherwise, without(counts, instruction.variable))
    elif isinstance(instruction, Activate | Block | Unblock):
        _known_task(code, f"code {code.name}, task {task.name}:", instruction.task)
    else:
        check_special_instruction(code, task, instruction, counts)


def _check_loop(code: ElementCode, task: Task, loop: Loop, counts: Mapping[str, int]) -> None:
    where = f"code {code.name}, task {task.name}, loop {loop.variable}"
    if loop.count < 1:
        raise ProgramError(f"{where}: the count is not positive", value=loop.count)
    _check_number(where, loop.count)
    if loop.variable in counts:
        raise ProgramError(f"{where}: the variable belongs to a loop around it")
    inside = {**counts, loop.variable: loop.count}
    _check_body(code, task, loop.body, without(inside, *counters_set(loop.body)))


def _check_operation(
    code: ElementCode, task: Task, op: DsdOperation, counts: Mapping[str, int]
) -> None:
    resolved = resolve(code, task.name, op)
    names = tuple(known.name for known in code.tasks)
    passes = partial(_check_resolved, (code, task), resolved, counts)
    _OPERATIONS.of((resolved, names, tuple(counts.items())), passes)


def _check_resolved(
    of: tuple[ElementCode, Task], resolved: ResolvedOperation, counts: Mapping[str, int]
) -> None:
    """Check an operation; of its code only the names of the tasks matter. Raises ProgramError."""
    code, op = of[0], resolved.source
    where = operation_name(code, of[1].name, op)
    check_index(resolved, where)
    for operand in resolved.operands:
        numbers = [operand.offset.constant, *(factor for _, factor in operand.offset.terms)]
        for number in numbers:
            _check_number(where, number)
        check_bounds(operand, counts, where, op.index)
    if op.activate is not None and op.unblock is not None:
        raise ProgramError(f"{where}: at most one of activate and unblock")
    for name in (op.activate, op.unblock):
        if name is not None:
            _known_task(code, f"{where}:", name)
            if not op.asynchronous:
                raise ProgramError(f"{where}: only an asynchronous operation can activate a task")
    check_special_operation(code, resolved, where)
    if op.asynchronous and not resolved.is_fabric and not has_register(resolved):
        raise ProgramError(f"{where}: an asynchronous operation needs a fabric operand")
    if op.microthread is not None and not op.asynchronous:
        raise ProgramError(f"{where}: a synchronous operation has no microthread")


def _check_number(where: str, number: int) -> None:
    if abs(number) > LARGEST:
        raise ProgramError(
            f"{where}: a number is too large", value=number, instead=f"at most {LARGEST}"
        )


def _known_task(code: ElementCode, where: str, name: str) -> None:
    if name not in {task.name for task in code.tasks}:
        raise _unknown(where, "task", name, (task.name for task in code.tasks))


def _check_ports(program: Program, colors: frozenset[str]) -> None:
    for route in program.routes:
        with ErrorSubject(route):
            _check_route(program, route, colors)
    for sink in program.edge_outputs:
        _check_edge(program, sink, colors)
    for source in program.edge_inputs:
        _check_edge(program, source, colors)
        _check_number(f"edge port {source.name}", source.interval * source.count + source.start)
        if source.interval < 1 or source.start < 0:
            raise ProgramError(
                f"edge port {source.name}: interval at least 1, start at least 0",
                value=(source.interval, source.start),
            )


def _check_route(program: Program, route: Route, colors: frozenset[str]) -> None:
    if route.color not in colors:
        raise _unknown(_where(route), "color", route.color, colors)
    bad = [port for port in (*route.rx, *route.tx) if port not in PORTS]
    if bad or not route.rx or not route.tx:
        ports = route.rx, route.tx
        raise ProgramError(f"{_where(route)} rx and tx need ports N E S W R", value=ports)
    area = route.area
    inside = min(area.row, area.column) >= 0 and min(area.height, area.width) >= 1
    inside = inside and area.row + area.height <= program.height
    if route.switch is not None or route.filter is not None:
        check_steering(route, _where(route))
    if route.swap:
        _check_swap(program, route, _where(route))
    if not inside or area.column + area.width > program.width:
        raise ProgramError(f"{_where(route)} outside the grid", value=program.placement.shape)


def _where(route: Route) -> str:
    return f"route of color {route.color} in {route.area}:"


def _check_swap(program: Program, route: Route, where: str) -> None:
    if route.swap not in SWAPS:
        raise ProgramError(f"{where} a swap is x, y or xy", value=route.swap)
    ids = {color.name: color.id for color in program.colors}
    if ids[route.color] ^ 1 not in ids.values():
        raise ProgramError(
            f"{where} a swap needs the color with the id that differs in the lowest bit",
            value=ids[route.color] ^ 1,
        )


def _check_edge(program: Program, port: EdgeInput | EdgeOutput, colors: frozenset[str]) -> None:
    where = f"edge port {port.name}:"
    if port.color not in colors:
        raise _unknown(where, "color", port.color, colors)
    if port.side not in PORTS[:4]:
        raise ProgramError(f"{where} the side is not N, E, S or W", value=port.side)
    if port.dtype not in DTYPES:
        raise _unknown(where, "dtype", port.dtype, DTYPES)
    length = program.width if port.side in "NS" else program.height
    if port.first < 0 or port.positions < 1 or port.first + port.positions > length:
        raise ProgramError(f"{where} positions outside the side", value=length)
    if port.count < 1:
        raise ProgramError(f"{where} the count is not positive", value=port.count)
    if port.count * port.positions > MAX_STREAM:
        raise ProgramError(f"{where} more than {MAX_STREAM} wavelets", value=port.count)
