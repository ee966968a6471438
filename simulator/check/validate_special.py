"""Checks of switches, filters, data and control tasks, FIFOs, registers (wafer.md §6.4)."""

from __future__ import annotations

from collections.abc import Container, Mapping

from tilewright.simulator.check.counter_types import check_argument_types, check_map_types
from tilewright.simulator.check.load_check import check_load, check_on_control, no_groups
from tilewright.simulator.isa.dsd import (
    DTYPES,
    FIFO_ACTIONS,
    Circbuf,
    Element,
    Fabin,
    Fabout,
    Fifo,
    Mem1d,
    Mem4d,
)
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.isa.operands import (
    ResolvedOperation,
    check_bounds,
    resolve_map,
    resolve_operand,
)
from tilewright.simulator.isa.scalars import FLOAT_ONLY, INTEGER_ONLY, SCALARS, source_dtypes
from tilewright.simulator.program.program import (
    Add,
    Compute,
    ElementCode,
    If,
    Instruction,
    LoadRegister,
    Loop,
    Map,
    Set,
    SetLength,
    Task,
)
from tilewright.simulator.program.routes import (
    POP_MODES,
    PORTS,
    CounterFilter,
    Position,
    RangeFilter,
    Route,
)


def has_register(resolved: ResolvedOperation) -> bool:
    """Return whether an operand is a register."""
    return any(operand.register is not None for operand in resolved.operands)


def check_steering(route: Route, where: str) -> None:
    """Refuse a switch or filter that no router has. Raises ProgramError."""
    switch = route.switch
    if switch is not None:
        if not 1 <= len(switch.positions) <= 3:
            raise ProgramError(
                f"{where} a switch has one to three positions beside the route",
                value=len(switch.positions),
            )
        if not 0 <= switch.current <= len(switch.positions):
            raise ProgramError(f"{where} no such switch position", value=switch.current)
        if switch.pop not in POP_MODES:
            raise ProgramError(
                f"{where} unknown pop mode", value=switch.pop, instead=", ".join(POP_MODES)
            )
        if switch.current and switch.positions[switch.current - 1] == Position():
            raise ProgramError(f"{where} the switch starts at an invalid position")
        for number, position in enumerate(switch.positions, 1):
            ports = (*(position.rx or ()), *(position.tx or ()))
            if any(port not in PORTS for port in ports):
                raise ProgramError(
                    f"{where} switch position {number} needs ports N E S W R", value=ports
                )
            if position.rx is not None and len(position.rx) != 1:
                raise ProgramError(
                    f"{where} switch position {number} takes from one port", value=position.rx
                )
    _check_filter(route, where)


def _check_filter(route: Route, where: str) -> None:
    chosen = route.filter
    if chosen is None:
        return
    if isinstance(chosen, RangeFilter):
        if not 0 <= chosen.low <= chosen.high <= 0xFFFF:
            raise ProgramError(
                f"{where} a range filter needs 0 <= low <= high <= 65535",
                value=(chosen.low, chosen.high),
            )
    elif isinstance(chosen, CounterFilter):
        limits = [chosen.limit, chosen.limit if chosen.other_limit is None else chosen.other_limit]
        if min(limits) < 1 or max(limits) > 0xFFFF or not 0 <= chosen.most <= 0xFFFF:
            raise ProgramError(
                f"{where} a counter filter needs limits in 1..65535 and most in 0..65535",
                value=(limits, chosen.most),
            )
        if not 0 <= chosen.start < min(limits):
            raise ProgramError(
                f"{where} a filter's counter starts below its limit", value=chosen.start
            )
        if chosen.filter_control and chosen.is_sparse:
            raise ProgramError(f"{where} a sparse counter has no filter_control")
    if not any("R" in (position.tx or ()) for position in route.directions()):
        raise ProgramError(f"{where} a filter works at the ramp, but no position sends to R")


def check_tasks(code: ElementCode) -> None:
    """Refuse bindings of tasks that do not exist or occur twice. Raises ProgramError."""
    bound = {queue.id for queue in code.input_queues}
    for task in code.tasks:
        with ErrorSubject(task):
            _check_task(task, bound, f"code {code.name}, task {task.name}")
    for what, numbers in (
        ("input queue", [task.queue for task in code.tasks]),
        ("entry", [task.control for task in code.tasks]),
    ):
        for later, number in enumerate(numbers):
            if number is not None and number in numbers[:later]:
                with ErrorSubject(code.tasks[later]):
                    raise ProgramError(f"code {code.name}: {what} {number} is bound to two tasks")


def _check_task(task: Task, bound: Container[int], where: str) -> None:
    if task.queue is not None and task.control is not None:
        raise ProgramError(f"{where}: a data task or a control task, not both")
    if task.queue is not None and task.queue not in bound:
        raise ProgramError(
            f"{where}: input queue {task.queue} is not bound to a color", value=task.queue
        )
    if task.control is not None and not 0 <= task.control < 64:
        raise ProgramError(
            f"{where}: the entry of a control task is outside 0..63", value=task.control
        )
    if task.entry and not task.is_local:
        raise ProgramError(f"{where}: only a local task can be active from the start")
    _check_arguments(task, where)
    check_argument_types(task, where)


def _check_arguments(task: Task, where: str) -> None:
    if any(len(argument) != 2 for argument in task.arguments):
        raise ProgramError(f"{where}: an argument is a counter and a dtype", value=task.arguments)
    bad = [dtype for _, dtype in task.arguments if dtype not in DTYPES]
    if bad:
        raise ProgramError(f"{where}: unknown dtype of an argument", value=bad[0])
    words = sum(DTYPES[dtype] for _, dtype in task.arguments)
    if task.is_local and words:
        raise ProgramError(f"{where}: a local task has no arguments")
    if words > (1 if task.control is not None else 2):
        raise ProgramError(
            f"{where}: the arguments need more bits than a wavelet gives",
            value=16 * words,
            instead="16 for a control task, 32 for a data task",
        )


def check_fabric_properties(dsd: Fabin | Fabout, where: str) -> None:
    """Refuse properties that exclude each other. Raises ProgramError."""
    if not isinstance(dsd, Fabout):
        return
    if dsd.zero not in ("", "first", "second"):
        raise ProgramError(f"{where}: zero names the first or the second source", value=dsd.zero)
    if dsd.control and dsd.control_transform:
        raise ProgramError(f"{where}: control and control_transform exclude each other")


def check_ring(code: ElementCode, dsd: Circbuf | Fifo) -> None:
    """Refuse a circular buffer or FIFO that does not fit its buffer. Raises ProgramError."""
    where = f"code {code.name}, DSD {dsd.name}"
    buffer = code.buffer(dsd.buffer)
    if buffer is None:
        raise ProgramError(f"{where}: unknown buffer", value=dsd.buffer)
    if isinstance(dsd, Circbuf):
        if not 1 <= dsd.extent <= 0xFFFF:
            raise ProgramError(f"{where}: an extent is outside 1..65535", value=dsd.extent)
        if dsd.wraparound is not None and not 1 <= dsd.wraparound < buffer.elements:
            raise ProgramError(
                f"{where}: the wraparound must be less than the {buffer.elements} elements of "
                f"buffer {buffer.name}",
                value=dsd.wraparound,
                instead="no wraparound, which means the whole buffer",
            )
        return
    _check_fifo(code, dsd, where)


def _check_fifo(code: ElementCode, dsd: Fifo, where: str) -> None:
    for action in (dsd.empty_action, dsd.full_action):
        if action not in FIFO_ACTIONS:
            raise ProgramError(
                f"{where}: unknown action", value=action, instead=", ".join(FIFO_ACTIONS)
            )
    tasks = {task.name for task in code.tasks if task.is_local}
    for name in (dsd.activate_pop, dsd.activate_push):
        if name is not None and name not in tasks:
            raise ProgramError(f"{where}: no local task of this name", value=name)
    users = [d.name for d in code.dsds if isinstance(d, Fifo) and d.buffer == dsd.buffer]
    if len(users) > 1:
        raise ProgramError(f"{where}: buffer {dsd.buffer} belongs to two FIFOs", value=users)


def check_special_instruction(
    code: ElementCode, task: Task, instruction: Instruction, counts: Mapping[str, int]
) -> None:
    """Refuse scalar instructions, lengths and loads that do not hold. Raises ProgramError."""
    where = f"code {code.name}, task {task.name}"
    if isinstance(instruction, Compute):
        _check_compute(code, instruction, counts, where)
    elif isinstance(instruction, SetLength):
        if not isinstance(code.dsd(instruction.fifo), Fifo):
            raise ProgramError(f"{where}: no FIFO of this name", value=instruction.fifo)
        if not 0 <= instruction.length <= 0xFFFF:
            raise ProgramError(f"{where}: a length is outside 0..65535", value=instruction.length)
    elif isinstance(instruction, LoadRegister):
        check_load(code, instruction, f"{where}, load of {instruction.register}", counts)


def _check_compute(
    code: ElementCode, instruction: Compute, counts: Mapping[str, int], where: str
) -> None:
    name = instruction.operation
    if name not in SCALARS:
        raise ProgramError(
            f"{where}: unknown scalar operation", value=name, instead=", ".join(SCALARS)
        )
    if instruction.dtype not in DTYPES:
        raise ProgramError(f"{where}, {name}: unknown dtype", value=instruction.dtype)
    if len(instruction.sources) != SCALARS[name][1]:
        raise ProgramError(
            f"{where}, {name}: needs {SCALARS[name][1]} sources", value=len(instruction.sources)
        )
    is_float = instruction.dtype in {"f32", "f16"}
    if (name in INTEGER_ONLY and is_float) or (name in FLOAT_ONLY and not is_float):
        raise ProgramError(f"{where}, {name}: not for this dtype", value=instruction.dtype)
    if not isinstance(instruction.dest, str | Element):
        raise ProgramError(f"{where}, {name}: the destination is a counter or an element")
    dtypes = (instruction.dtype, *source_dtypes(name, instruction.dtype))
    for dtype, value in zip(dtypes, (instruction.dest, *instruction.sources), strict=True):
        if isinstance(value, Element):
            element = resolve_operand(code, value, f"{where}, {name}")
            check_bounds(element, counts, f"{where}, {name}")
            buffer = element.buffer
            assert buffer is not None
            if DTYPES[buffer.dtype] != DTYPES[dtype]:
                raise ProgramError(
                    f"{where}, {name}: buffer {buffer.name} has values of another size",
                    value=buffer.dtype,
                )


def check_special_operation(code: ElementCode, resolved: ResolvedOperation, where: str) -> None:
    """Refuse what FIFOs, registers and control wavelets forbid. Raises ProgramError."""
    op = resolved.source
    check_on_control(code, op.on_control, where)
    if op.on_control is not None and not op.asynchronous:
        raise ProgramError(f"{where}: on_control needs an asynchronous operation")
    fifos = [isinstance(source.dsd, Fifo) for source in resolved.sources]
    if sum(fifos) > 1:
        raise ProgramError(f"{where}: at most one source may be a FIFO")
    if len(fifos) > 1 and fifos[0]:
        raise ProgramError(f"{where}: a FIFO may not be the first of several sources")
    indexed = any(_is_indexed(operand.dsd) for operand in resolved.operands)
    if indexed and op.index is None:
        raise ProgramError(f"{where}: a descriptor with wavelet_index_offset needs an index")
    _check_zero(resolved, where)
    if op.asynchronous and op.result is not None:
        raise ProgramError(f"{where}: an asynchronous operation has no result")
    registers = [o.register for o in resolved.operands if o.register is not None]
    if any(register.fifo and register.file == "src0" for register in registers):
        raise ProgramError(f"{where}: a register of FIFO type is of file dest or src1")
    if resolved.dest.register is not None and resolved.dest.register.file == "src1":
        raise ProgramError(f"{where}: the destination is a register of file dest or src0")
    for source in resolved.sources:
        if source.register is not None and source.register.file == "dest":
            raise ProgramError(f"{where}: a source is a register of file src0 or src1")


def check_index(resolved: ResolvedOperation, where: str) -> None:
    """Refuse an index that is no u16, or that overwrites half of a float. Raises ProgramError."""
    index = resolved.source.index
    if index is not None and not index.terms and not 0 <= index.constant <= 0xFFFF:
        raise ProgramError(
            f"{where}: an index is outside 0..65535", value=index.constant, instead="a u16"
        )
    indexed = [o.buffer for o in resolved.operands if o.buffer is not None and _is_indexed(o.dsd)]
    wide = any(DTYPES[buffer.dtype] == 2 for buffer in indexed)
    if wide and index is not None and not index.terms and index.constant % 2:
        raise ProgramError(
            f"{where}: an index counts words, and values of two words start at even ones",
            value=index.constant,
            instead="an even index",
        )
    dest = resolved.dest.dsd
    float32 = resolved.operation.legal(0) == ("f32",)
    if isinstance(dest, Fabout) and dest.wavelet_index_offset and float32:
        raise ProgramError(
            f"{where}: the index takes the upper 16 bits of every wavelet of {dest.name}",
            value="f32",
            instead="an operation on 16-bit values",
        )


def _check_zero(resolved: ResolvedOperation, where: str) -> None:
    """Refuse to clear a source that is no vector in memory."""
    dest = resolved.dest.dsd
    if not isinstance(dest, Fabout) or not dest.zero:
        return
    source = resolved.sources[1 if dest.zero == "second" and len(resolved.sources) > 1 else 0]
    held = source.register is not None or (source.letter == "D" and source.is_memory)
    if not held or isinstance(source.dsd, Fifo):
        raise ProgramError(
            f"{where}: {dest.name} clears its {dest.zero} source, which is no vector in memory",
            value=dest.zero,
            instead="a source that is a memory descriptor",
        )


def check_map(code: ElementCode, task: Task, instruction: Map, counts: Mapping[str, int]) -> None:
    """Refuse a map whose operands or body do not hold. Raises ProgramError."""
    where = f"code {code.name}, task {task.name}, @map"
    resolved = resolve_map(code, task.name, instruction)
    for operand in resolved.operands:
        check_bounds(operand, counts, where)
        if _is_indexed(operand.dsd):
            raise ProgramError(f"{where}: wavelet_index_offset needs an index")
        if isinstance(operand.dsd, Fabin | Fabout) and operand.dsd.simd:
            raise no_groups(where, operand.dsd)
    check_map_types(code, instruction, where)
    pending = list(instruction.body)
    while pending:
        inner = pending.pop()
        if isinstance(inner, Loop):
            pending += inner.body
        elif isinstance(inner, If):
            pending += [*inner.then, *inner.otherwise]
        elif not isinstance(inner, Compute | Set | Add):
            raise ProgramError(f"{where}: the body has scalar instructions only")


def _is_indexed(dsd: object) -> bool:
    return isinstance(dsd, Mem1d | Mem4d | Fabout) and dsd.wavelet_index_offset
