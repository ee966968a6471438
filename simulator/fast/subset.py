"""The subset of the program language that the fast engine covers; it refuses everything else.

A field that this module does not name must have its default value. So the fast engine never runs a
feature that is new in the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields
from functools import cache, partial
from operator import attrgetter
from typing import Any, Final

import numpy as np

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import ROUTER, FifoNetwork
from tilewright.simulator.compile.families.code_families import constant_answer, family_answer
from tilewright.simulator.fast.no_certificate import Ints, NotCovered
from tilewright.simulator.instructions.control_flow import Add, If, Loop, Set
from tilewright.simulator.instructions.element_map import Map
from tilewright.simulator.instructions.scalar_operation import ScalarOperation
from tilewright.simulator.instructions.task_states import Activate, Block, Unblock
from tilewright.simulator.isa.dsd import (
    Buffer,
    CounterValue,
    Element,
    Fabin,
    Fabout,
    Immediate,
    Mem1d,
    Mem4d,
    Ref,
    Register,
)
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.isa.resolving import resolve
from tilewright.simulator.program.code_parts import all_instructions, all_loads, all_operations
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.program import ElementCode, Program, Queue, Task
from tilewright.simulator.program.routes import Color, CounterFilter, EdgeInput, EdgeOutput, Route

KNOWN: Final[dict[type[Any], frozenset[str]]] = {
    kind: frozenset(names.split())
    for kind, names in (
        (Program, "name codes placement colors routes edge_inputs edge_outputs"),
        (Task, "name body entry blocked"),
        (DsdOperation, "operation dest sources asynchronous activate unblock microthread label"),
        (Loop, "variable count body"),
        (LoadRegister, "register dsd offset save_address"),
        (Register, "file id"),
        (CounterValue, "index"),
        (Set, "variable value"),
        (Add, "variable value"),
        (If, "variable below then otherwise"),
        (Map, "inputs output body label"),
        (ScalarOperation, "dest operation sources dtype"),
        (Activate, "task"),
        (Block, "task"),
        (Unblock, "task"),
        (Buffer, "name dtype shape address"),
        (Queue, "id color"),
        (Color, "name id"),
        (Ref, "dsd offset"),
        (Element, "buffer index"),
        (Immediate, "value"),
        (Mem1d, "name buffer extent stride offset"),
        (Mem4d, "name buffer extents strides offset"),
        (Fabin, "name queue extent simd"),
        (Fabout, "name queue extent simd"),
        (Route, "color area rx tx filter"),
        (CounterFilter, "limit most start"),
        (EdgeInput, "name side first positions color dtype count interval start"),
        (EdgeOutput, "name side first positions color dtype count interval"),
    )
}
_NAMES: Final = (
    "fmovs fmovh mov16 mov32 fadds faddh fsubs fsubh fmuls fmulh fmaxs fmaxh add16 sub16 "
    "fnegs fnegh fabss fabsh fmacs fmach and16 or16 xor16 sll16 slr16 sar16 clz ctz popcnt "
    "fh2s fs2h fh2xp16 fs2xp16 xp162fh xp162fs fmachs faddhs"
)
KNOWN_OPERATIONS: Final = frozenset(_NAMES.split())
"""Operations on descriptors whose elements do not depend on each other."""
CODE: Final = frozenset({"name", "buffers", "dsds", "input_queues", "output_queues", "tasks"})

_REASONS: Final = IdentityCache(256)


def unknown_parts(program: Program, network: FifoNetwork) -> Iterator[NotCovered]:
    """Yield why parts of a program are not in the subset that the fast engine covers.

    Each item names the reason, with the elements or FIFOs concerned (none: the whole program). A
    field of the program that the fast engine does not know must have its default value, so that
    features new to the language are refused.
    """
    yield from _missing(_check, program, KNOWN[Program])
    for color in program.colors:
        yield from _missing(_check_known, color)
    for number, code in enumerate(program.codes):
        for reason in _REASONS.of(code, "missing", partial(_reasons_of, code)):
            elements = np.flatnonzero(program.placement.ravel() == number)
            yield NotCovered(reason, elements=elements)
    for route in program.routes:
        for missing in _missing(_check_route, route):
            yield NotCovered(missing.reason, fifos=_buffers(program, network, route))
    ports = zip(
        (*program.edge_inputs, *program.edge_outputs),
        (*network.edge_inputs, *network.edge_outputs),
        strict=True,
    )
    for port, fifos in ports:
        for missing in _missing(_check_known, port):
            yield NotCovered(missing.reason, fifos=fifos)


def _reasons_of(code: ElementCode) -> tuple[str, ...]:
    def reasons(code: ElementCode) -> tuple[str, ...]:
        return tuple(missing.reason for missing in _missing(_check_code, code))

    return family_answer(
        code, "subset", partial(reasons, code), lambda code: constant_answer(reasons(code))
    )


def _missing(check: Callable[..., None], *args: object) -> list[NotCovered]:
    try:
        check(*args)
    except NotCovered as missing:
        return [missing]
    return []


def _buffers(program: Program, network: FifoNetwork, route: Route) -> Ints:
    """Return the router buffers of a route; a swap concerns those of the partner color, too."""
    color = next(color.id for color in program.colors if color.name == route.color)
    colors = network.fifo[:, at.F_COLOR]
    on_route = (network.kind == ROUTER) & ((colors == color) | (colors == color ^ 1))
    row, column = np.divmod(network.element, program.width)
    on_route &= np.isin(row, route.area.rows) & np.isin(column, route.area.columns)
    return np.flatnonzero(on_route)


def _check_code(code: ElementCode) -> None:
    _check(code, CODE)
    for named in (*code.buffers, *code.dsds, *code.tasks):
        _check_known(named)
    for _, instruction in all_instructions(code):
        _check_instruction(instruction)
    _check_simd(code)
    for queue in (*code.input_queues, *code.output_queues):
        _check_known(queue)


def _descriptors(operation: ResolvedOperation) -> Iterator[str]:
    """Yield the names of the descriptors of an operation."""
    yield from (operand.dsd.name for operand in operation.operands if operand.dsd)


def _check_simd(code: ElementCode) -> None:
    """Check that queues with a SIMD mode are in operations that take pairs of values for one."""
    simd = {d.name for d in code.dsds if isinstance(d, Fabin | Fabout) and d.simd}
    if not simd:
        return
    held = simd.intersection(load.dsd for load in all_loads(code))
    if held:
        raise NotCovered("a register that holds a queue with a SIMD mode")
    for task, op in all_operations(code):
        resolved = resolve(code, task.name, op)
        if not resolved.is_packed and simd.intersection(_descriptors(resolved)):
            raise NotCovered(f"@{op.operation} in a SIMD mode, but not on whole pairs")


def _check_instruction(instruction: Instruction) -> None:
    _check_known(instruction)
    for operand in _operands(instruction):
        _check_known(operand)


def _operands(instruction: Instruction) -> tuple[object, ...]:
    """Return the operands of an instruction, without counters. Raises NotCovered."""
    if isinstance(instruction, Map):
        return instruction.operands
    if isinstance(instruction, ScalarOperation):
        values = (instruction.dest, *instruction.sources)
        return tuple(value for value in values if not isinstance(value, str))
    if not isinstance(instruction, DsdOperation):
        return ()
    if instruction.operation not in KNOWN_OPERATIONS:
        raise NotCovered(f"the operation @{instruction.operation}")
    return (instruction.dest, *instruction.sources)


def _check_route(route: Route) -> None:
    _check_known(route)
    if route.filter is not None:
        _check_known(route.filter)


def _check_known(part: object) -> None:
    names = KNOWN.get(type(part))
    if names is None:
        raise NotCovered(f"a {type(part).__name__} in the program")
    _check(part, names)


def _check(part: Any, names: frozenset[str]) -> None:
    kind: Any = type(part)
    read, defaults = _unnamed_fields(kind, names)
    if read(part) == defaults:
        return
    for field in fields(kind):
        if field.name not in names and getattr(part, field.name) != _default(field):
            raise NotCovered(f"{kind.__name__}.{field.name} is set")


@cache
def _unnamed_fields(kind: Any, names: frozenset[str]) -> tuple[Callable[[Any], object], object]:
    """Return a reader of the fields that `names` leaves out, and their default values."""
    unnamed = [field for field in fields(kind) if field.name not in names]
    if not unnamed:
        return lambda _: (), ()
    defaults = tuple(map(_default, unnamed))
    read = attrgetter(*(field.name for field in unnamed))
    return read, defaults if len(unnamed) > 1 else defaults[0]


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default
