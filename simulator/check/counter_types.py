"""Counters whose values have a dtype: arguments of tasks, inputs and outputs of `@map`.

A counter holds a float by its bits, so an instruction on floats of another size would take
something else than the number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tilewright.simulator.isa.dsd import DTYPES, Circbuf, Mem1d, Mem4d, Operand, Register
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operands import resolve_operand
from tilewright.simulator.isa.scalars import SCALARS, source_dtypes
from tilewright.simulator.program.loads import loaded_descriptors
from tilewright.simulator.program.program import (
    Add,
    Compute,
    ElementCode,
    If,
    Instruction,
    Loop,
    Map,
    Set,
    Task,
)

FLOATS = ("f32", "f16")
INTEGER_RESULTS = ("lt", "le", "eq", "ne", "to_int")


def check_argument_types(task: Task, where: str) -> None:
    """Refuse a task that takes an argument for a float of another size. Raises ProgramError."""
    _check_uses(dict(task.arguments), task.body, where)


def check_map_types(code: ElementCode, instruction: Map, where: str) -> None:
    """Refuse a body that takes its values for floats of another size. Raises ProgramError."""
    given = {name: _dtype(code, operand, where) for name, operand in instruction.inputs}
    _check_uses({name: dtype for name, dtype in given.items() if dtype}, instruction.body, where)
    if instruction.output is None:
        return
    name, operand = instruction.output
    dtype = _dtype(code, operand, where)
    written = [_result(c) for c in _computes(instruction.body) if c.dest == name]
    if dtype and written and all(_differ(dtype, found) for found in written):
        raise ProgramError(
            f"{where}: the output takes {dtype}, but its counter {name} holds a value of another "
            "dtype",
            value=written[0],
            instead=f"instructions on {dtype}",
        )


def _check_uses(given: Mapping[str, str], body: tuple[Instruction, ...], where: str) -> None:
    changed = set(_changed(body))
    for compute in _computes(body):
        if compute.operation not in SCALARS:
            continue  # refused behind
        dtypes = source_dtypes(compute.operation, compute.dtype)
        for source, dtype in zip(compute.sources, dtypes, strict=False):
            if not isinstance(source, str) or source in changed or source not in given:
                continue
            if _differ(given[source], dtype):
                raise ProgramError(
                    f"{where}, {compute.operation}: argument {source} is no {dtype}",
                    value=given[source],
                    instead=f"instructions on {given[source]}",
                )


def _differ(left: str, right: str) -> bool:
    if left not in DTYPES or right not in DTYPES:
        return False  # another check refuses what is no dtype
    return DTYPES[left] != DTYPES[right] and (left in FLOATS or right in FLOATS)


def _result(compute: Compute) -> str:
    integer = compute.operation in INTEGER_RESULTS
    return "i32" if integer and compute.dtype in FLOATS else compute.dtype


def _dtype(code: ElementCode, operand: Operand, where: str) -> str | None:
    """Return the dtype of an operand's buffer, None for a queue."""
    if not isinstance(operand, Register):
        buffer = resolve_operand(code, operand, where).buffer
        return None if buffer is None else buffer.dtype
    held = [d for d in loaded_descriptors(code, operand) if isinstance(d, Mem1d | Mem4d | Circbuf)]
    buffers = [b for b in (code.buffer(dsd.buffer) for dsd in held) if b is not None]
    dtypes = sorted({buffer.dtype for buffer in buffers})
    if len(dtypes) > 1:
        raise ProgramError(
            f"{where}: register {operand} is loaded with values of several dtypes",
            value=", ".join(dtypes),
            instead="a register for each dtype",
        )
    return dtypes[0] if dtypes else None


def _changed(body: Iterable[Instruction]) -> Iterator[str]:
    """Yield the counters that a body gives a value."""
    for instruction in _walk(body):
        if isinstance(instruction, Set | Add):
            yield instruction.variable
        elif isinstance(instruction, Compute) and isinstance(instruction.dest, str):
            yield instruction.dest


def _computes(body: Iterable[Instruction]) -> Iterator[Compute]:
    """Yield the scalar instructions of known operations; another check refuses the others."""
    for found in _walk(body):
        if isinstance(found, Compute) and found.operation in SCALARS:
            yield found


def _walk(body: Iterable[Instruction]) -> Iterator[Instruction]:
    pending = list(body)
    while pending:
        instruction = pending.pop(0)
        yield instruction
        if isinstance(instruction, Loop | Map):
            pending = [*instruction.body, *pending]
        elif isinstance(instruction, If):
            pending = [*instruction.then, *instruction.otherwise, *pending]
