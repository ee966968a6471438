"""A code in parts: what its family has in common, the names and the numbers of its own.

A code with a part that is not named here has no family.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, Final

from tilewright.simulator.compile.families.traced_numbers import TracedNumber
from tilewright.simulator.instructions.control_flow import Add, If, Loop, Set
from tilewright.simulator.instructions.element_map import Map
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
from tilewright.simulator.isa.index_expression import NO_OFFSET, Index
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.program import ElementCode, Task

NUMBERS: Final[dict[type[Any], tuple[str, ...]]] = {
    Buffer: ("shape", "address"),
    Mem1d: ("extent", "stride", "offset"),
    Mem4d: ("extents", "strides", "offset"),
    Fabin: ("extent",),
    Fabout: ("extent",),
    Loop: ("count",),
    Set: ("value",),
    Add: ("value",),
    If: ("below",),
}
"""Fields that hold the numbers, or tuples of them."""
NAMES: Final[dict[type[Any], tuple[str, ...]]] = {
    Buffer: ("name",),
    Mem1d: ("name", "buffer"),
    Mem4d: ("name", "buffer"),
    Fabin: ("name",),
    Fabout: ("name",),
}
"""Fields with names that may differ within a family. Those of counters may not: offsets list them
in alphabetical order."""
BODIES: Final[dict[type[Any], tuple[str, ...]]] = {Loop: ("body",), If: ("then", "otherwise")}
TASK_STATES: Final = frozenset({Activate, Block, Unblock})


def _others(kind: type[Any], *names: str) -> Callable[[Any], Any]:
    """Return a function that reads all fields of a dataclass but those in `names`."""
    return attrgetter(*(f.name for f in fields(kind) if f.name not in names))


ENDS: Final = ("activate", "unblock", "on_control")
FIXED: Final = _others(DsdOperation, "dest", "sources", "label", *ENDS)
LOADED: Final = _others(LoadRegister, "offset", "dsd", *ENDS)
TASK: Final = _others(Task, "name", "body", "teardown")
WRONG: Final = (AttributeError, TypeError, ValueError, RecursionError)
"""What fields of wrong types raise, and bodies that are too deep; the checks will tell."""


def _readers(kind: type[Any]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return two functions on a record: one reads the fields that tell families apart.

    The other one reads the fields with numbers.
    """
    others = _others(kind, *NUMBERS[kind], *NAMES.get(kind, ()), *BODIES.get(kind, ()))
    read = attrgetter(*NUMBERS[kind])
    return others, read if len(NUMBERS[kind]) > 1 else lambda part: (read(part),)


READERS: Final = {kind: _readers(kind) for kind in NUMBERS}


_plain_ref: Final = _others(Ref, "dsd", "offset", "base")
_PLAIN_REF: Final = _plain_ref(Ref(""))
"""The further fields of an operand, and their defaults, which a family has."""


class _NoFamily(Exception):  # noqa: N818 - not an error
    """A part of a code is of a kind for which codes have no family."""


@dataclass(frozen=True, slots=True)
class CodeParts:
    """A code in three parts: what its family has in common, its names, its numbers.

    `shape`: the family's key, in which a name is the place of its first use. `names`: the names and
    labels, in the order of the code.
    """

    shape: Hashable
    names: tuple[str, ...]
    numbers: tuple[int, ...]


@dataclass(slots=True)
class _FamilySplitter:
    """Collects, from a code, a key of its family, and the names and numbers of the code.

    `shape`: the key; `numbers`: those that may differ; `exact`: queues and microthreads, which have
    to be integers.
    """

    shape: list[Any] = field(default_factory=list)
    """Values with a hash."""
    numbers: list[int] = field(default_factory=list)
    exact: list[object] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    """Each name, with the number of names before it."""
    labels: list[str] = field(default_factory=list)

    def code(self, code: ElementCode) -> None:
        self.name(code.name)
        self.shape += (code.main_priority, len(code.buffers), len(code.dsds))
        for queues in (code.input_queues, code.output_queues):
            self.shape.append(len(queues))
            for queue in queues:
                self.shape += (queue.id, queue.priority)
                self.name(queue.color)
                self.exact.append(queue.id)
        if code.loads or any(buffer.view_of for buffer in code.buffers):
            raise _NoFamily
        for part in (*code.buffers, *code.dsds):
            self.declared(part)
        for task in code.tasks:
            if not task.is_local:
                raise _NoFamily
            self.shape.append(TASK(task))
            self.name(task.name)
            self.name(task.teardown)
            self.body(task.body)

    def name(self, name: object) -> None:
        if not name:  # none; a label that is empty
            self.shape.append(name)
            return
        if type(name) is not str:
            raise _NoFamily
        self.shape.append(self.names.setdefault(name, len(self.names)))

    def declared(self, part: Any) -> None:
        kind = type(part)
        if kind not in READERS:
            raise _NoFamily
        others, counts = READERS[kind]
        self.shape.append(kind)
        self.shape.append(others(part))
        for field_name in NAMES.get(kind, ()):
            self.name(getattr(part, field_name))
        for number in counts(part):
            if type(number) is tuple:
                self.shape.append(len(number))
                self.numbers += number
            else:
                self.numbers.append(number)
        if kind is Fabin or kind is Fabout:
            self.exact.append(part.queue)

    def body(self, body: tuple[Instruction, ...]) -> None:
        self.shape.append(len(body))
        for instruction in body:
            kind = type(instruction)
            if kind is DsdOperation:
                self.operation(instruction)  # type: ignore[arg-type]
            elif kind in TASK_STATES:
                self.shape.append(kind)
                self.name(instruction.task)  # type: ignore[attr-defined]
            elif kind is LoadRegister:
                self.load(instruction)  # type: ignore[arg-type]
            elif kind is Map:
                self.map(instruction)  # type: ignore[arg-type]
            else:
                self.declared(instruction)
                for name in BODIES.get(kind, ()):
                    self.body(getattr(instruction, name))

    def load(self, load: LoadRegister) -> None:
        self.shape += (LoadRegister, LOADED(load), len(load.strides))
        self.exact += (load.register.id, load.xdsr or 0, load.microthread or 0, *load.strides)
        self.name(load.dsd)
        self.ends(load)
        self.index(load.offset)

    def map(self, instruction: Map) -> None:
        pairs = (*instruction.inputs, instruction.output)
        self.labels.append(instruction.label)
        self.shape += (Map, len(instruction.inputs))
        for pair in pairs:
            self.shape.append(None if pair is None else pair[0])
            if pair is not None:
                self.operand(pair[1])
        self.body(instruction.body)

    def operation(self, op: DsdOperation) -> None:
        self.labels.append(op.label)
        self.shape += (FIXED(op), len(op.sources))
        self.ends(op)
        if op.microthread is not None:
            self.exact.append(op.microthread)
        self.operand(op.dest)
        for source in op.sources:
            self.operand(source)

    def ends(self, instruction: DsdOperation | LoadRegister) -> None:
        self.name(instruction.activate)
        self.name(instruction.unblock)
        on_control = instruction.on_control
        self.shape.append(on_control and on_control.action)
        if on_control is not None:
            self.name(on_control.task)

    def operand(self, operand: object) -> None:
        kind = type(operand)
        if kind is Ref:
            if _plain_ref(operand) != _PLAIN_REF:
                raise _NoFamily
            self.shape.append(kind)
            self.name(operand.dsd)  # type: ignore[attr-defined]
            self.name(operand.base)  # type: ignore[attr-defined]
            self.index(operand.offset)  # type: ignore[attr-defined]
        elif kind is Element:
            self.shape.append(kind)
            self.name(operand.buffer)  # type: ignore[attr-defined]
            self.index(operand.index)  # type: ignore[attr-defined]
        elif kind is CounterValue:
            self.shape.append(kind)
            self.index(operand.index)  # type: ignore[attr-defined]
        elif kind is Immediate or kind is Register:
            self.shape.append(operand)
        else:
            raise _NoFamily

    def index(self, index: Index) -> None:
        if index is NO_OFFSET:
            self.shape.append(None)
            return
        self.shape.append(tuple(name for name, _ in index.terms))
        self.numbers.append(index.constant)
        self.numbers += (factor for _, factor in index.terms)


def split_code(code: ElementCode) -> CodeParts | None:
    """Return the parts of a code; None if it has no family."""
    splitter = _FamilySplitter()
    try:
        splitter.code(code)
    except (_NoFamily, *WRONG):
        return None
    if any(type(number) is not int for number in (*splitter.numbers, *splitter.exact)):
        return None
    names = (*splitter.names, *splitter.labels)
    return CodeParts(tuple(splitter.shape), names, tuple(splitter.numbers))


class Renumbering:
    """Puts traced numbers into a code, in the order of `split_code`."""

    def __init__(self, numbers: Sequence[TracedNumber]) -> None:
        self._given: Iterator[Any] = iter(numbers)

    def code(self, old: ElementCode) -> ElementCode:
        """Return a copy of a code whose numbers are traced ones."""
        buffers = tuple(map(self._declared, old.buffers))
        dsds = tuple(map(self._declared, old.dsds))
        tasks = tuple(replace(task, body=self._body(task.body)) for task in old.tasks)
        return replace(old, buffers=buffers, dsds=dsds, tasks=tasks)

    def _declared(self, part: Any) -> Any:
        values: dict[str, Any] = {}
        for name in NUMBERS[type(part)]:
            old, given = getattr(part, name), self._given
            is_tuple = type(old) is tuple
            values[name] = tuple(next(given) for _ in old) if is_tuple else next(given)
        for name in BODIES.get(type(part), ()):
            values[name] = self._body(getattr(part, name))
        return replace(part, **values)

    def _body(self, old: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
        return tuple(map(self._instruction, old))

    def _instruction(self, instruction: Any) -> Any:
        if isinstance(instruction, DsdOperation):
            dest = self._operand(instruction.dest)
            return replace(
                instruction, dest=dest, sources=tuple(map(self._operand, instruction.sources))
            )
        if isinstance(instruction, LoadRegister):
            return replace(instruction, offset=self._index(instruction.offset))
        if isinstance(instruction, Map):
            return self._map(instruction)
        return instruction if type(instruction) in TASK_STATES else self._declared(instruction)

    def _map(self, old: Map) -> Map:
        inputs = tuple((name, self._operand(operand)) for name, operand in old.inputs)
        output = old.output and (old.output[0], self._operand(old.output[1]))
        return Map(inputs, output, self._body(old.body), old.label)

    def _operand(self, old: Any) -> Any:
        if isinstance(old, Ref):
            return replace(old, offset=self._index(old.offset))
        if isinstance(old, CounterValue):
            return CounterValue(self._index(old.index))
        return Element(old.buffer, self._index(old.index)) if isinstance(old, Element) else old

    def _index(self, old: Index) -> Index:
        if old is NO_OFFSET:
            return old
        constant = next(self._given)
        return Index(constant, tuple((name, next(self._given)) for name, _ in old.terms))
