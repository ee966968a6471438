"""Families of codes that differ only in numbers: lengths, places, strides, counts.

What is found out about one of them by traced numbers (`traced_numbers.py`) holds for all that take
the same way through the checks and the compiler, which conditions on their numbers tell. A code
with a part that is not named here has no family; it is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, Final, TypeVar

from tilewright.arch.memo import IdentityCache, ValueCache
from tilewright.simulator.check.field_types import check_fields
from tilewright.simulator.compile.code.traced_numbers import (
    FamilyConditions,
    Ints,
    NumberTrace,
    TracedNumber,
)
from tilewright.simulator.instructions.control_flow import (
    Add,
    If,
    Loop,
    Set,
)
from tilewright.simulator.instructions.element_map import Map
from tilewright.simulator.instructions.task_states import (
    Activate,
    Block,
    Unblock,
)
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
from tilewright.simulator.program.instruction import (
    DsdOperation,
    Instruction,
    LoadRegister,
)
from tilewright.simulator.program.program import (
    ElementCode,
    Task,
)

R = TypeVar("R")
T = TypeVar("T")
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
BODIES: Final[dict[type[Any], tuple[str, ...]]] = {Loop: ("body",), If: ("then", "otherwise")}
WHOLE: Final = frozenset({Activate, Block, Unblock})


def _others(kind: type[Any], *names: str) -> Callable[[Any], Any]:
    """Return a function that reads all fields of a dataclass but those in `names`."""
    return attrgetter(*(f.name for f in fields(kind) if f.name not in names))


FIXED: Final = _others(DsdOperation, "dest", "sources")
LOADED: Final = _others(LoadRegister, "offset")
TASK: Final = _others(Task, "body")
MOST_WAYS: Final = 4
"""Ways through a stage that are kept for a family."""
FEW: Final = 3
"""Codes of a family that are looked at by themselves: many families have no more."""
MOST_UNTRACED: Final = 2
"""Attempts that may fail: what fails twice mostly does for all codes of a family."""
WRONG: Final = (AttributeError, TypeError, ValueError, RecursionError)
"""What fields of wrong types raise, and bodies that are too deep; the checks will tell."""
UNTRACED: Final = (TypeError, AttributeError, ValueError, ZeroDivisionError)
"""What traced numbers raise where they cannot go."""


def _readers(kind: type[Any]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return two functions on a record: one reads the fields that tell families apart.

    The other one reads the fields with numbers.
    """
    fixed_fields = _others(kind, *NUMBERS[kind], *BODIES.get(kind, ()))
    read = attrgetter(*NUMBERS[kind])
    return fixed_fields, read if len(NUMBERS[kind]) > 1 else lambda part: (read(part),)


READERS: Final = {kind: _readers(kind) for kind in NUMBERS}


_plain_ref: Final = _others(Ref, "dsd", "offset", "base")
_PLAIN_REF: Final = _plain_ref(Ref(""))
"""The further fields of an operand, and their defaults, which a family has."""


class _NoFamily(Exception):  # noqa: N818 - not an error
    """A part of a code is of a kind for which codes have no family."""


@dataclass(slots=True)
class _FamilySplitter:
    """Collects, from a code, a key of its family and the numbers in which members differ.

    `shape`: the key; `numbers`: those that may differ; `exact`: queues and microthreads, which have
    to be integers.
    """

    shape: list[Any] = field(default_factory=list)
    """Values with a hash."""
    numbers: list[int] = field(default_factory=list)
    exact: list[object] = field(default_factory=list)
    """Queues, which have to be integers, too."""

    def code(self, code: ElementCode) -> None:
        queues = code.input_queues, code.output_queues
        self.shape += (code.name, *queues, code.main_priority, len(code.buffers), len(code.dsds))
        self.exact += [queue.id for several in queues for queue in several]
        if code.loads or any(buffer.view_of for buffer in code.buffers):
            raise _NoFamily
        for part in (*code.buffers, *code.dsds):
            self.declared(part)
        for task in code.tasks:
            if not task.is_local:
                raise _NoFamily
            self.shape.append(TASK(task))
            self.body(task.body)

    def declared(self, part: Any) -> None:
        kind = type(part)
        if kind not in READERS:
            raise _NoFamily
        fixed_fields, counts = READERS[kind]
        self.shape.append(kind)
        self.shape.append(fixed_fields(part))
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
            elif kind in WHOLE:
                self.shape.append(instruction)
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
        self.index(load.offset)

    def map(self, instruction: Map) -> None:
        pairs = (*instruction.inputs, instruction.output)
        self.shape += (Map, instruction.label, len(instruction.inputs))
        for pair in pairs:
            self.shape.append(None if pair is None else pair[0])
            if pair is not None:
                self.operand(pair[1])
        self.body(instruction.body)

    def operation(self, op: DsdOperation) -> None:
        self.shape += (FIXED(op), len(op.sources))
        if op.microthread is not None:
            self.exact.append(op.microthread)
        self.operand(op.dest)
        for source in op.sources:
            self.operand(source)

    def operand(self, operand: object) -> None:
        kind = type(operand)
        if kind is Ref:
            if _plain_ref(operand) != _PLAIN_REF:
                raise _NoFamily
            self.shape += (kind, operand.dsd, operand.base)  # type: ignore[attr-defined]
            self.index(operand.offset)  # type: ignore[attr-defined]
        elif kind is Element:
            self.shape += (kind, operand.buffer)  # type: ignore[attr-defined]
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


def _split(code: ElementCode) -> tuple[Hashable, tuple[int, ...]] | None:
    """Return the key of a code's family, and the code's numbers; None if it has no family."""
    splitter = _FamilySplitter()
    try:
        splitter.code(code)
    except (_NoFamily, *WRONG):
        return None
    if any(type(number) is not int for number in (*splitter.numbers, *splitter.exact)):
        return None
    return tuple(splitter.shape), tuple(splitter.numbers)


class _Renumbering:
    """Puts traced numbers into a code, in the order of `_split`."""

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
        return instruction if type(instruction) in WHOLE else self._declared(instruction)

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


AnswerFiller = Callable[[ElementCode, Ints], R]
"""Gives an answer about a code from what `Guide.follow` gave."""


def constant_answer(answer: R) -> Callable[[FamilyConditions], AnswerFiller[R]]:
    """Return a maker of fillers that give the same answer for every code of a family.

    A filler makes the answer about one code from its numbers (see `family_answer`); this is the
    maker for an answer that does not depend on numbers.
    """
    return lambda _: lambda *_: answer


@dataclass(slots=True)
class _Stage:
    """What is known of how a family's codes answer one question, such as what their rows are.

    `answers`: (conditions on the numbers, function that gives the answer where they hold);
    `misses`: number of codes for which no conditions held; `untraced`: attempts with traced numbers
    that failed.
    """

    answers: list[tuple[FamilyConditions, AnswerFiller[Any]]] = field(default_factory=list)
    misses: int = 0
    """Members that went another way than all known ones."""
    untraced: int = 0

    def learn(
        self,
        code: ElementCode,
        numbers: tuple[int, ...],
        traced: Callable[[ElementCode], Callable[[FamilyConditions], AnswerFiller[Any]]],
    ) -> None:
        """Solve the question by traced numbers for the 3rd, 6th, 12th ... code without an answer.

        Nothing is learnt if something is done with the numbers that cannot be traced.
        """
        self.misses += 1
        times, rest = divmod(self.misses, FEW)
        if rest or times & (times - 1) or self.untraced == MOST_UNTRACED:
            return
        trace = NumberTrace(numbers)
        try:
            make_filler = traced(_Renumbering(trace.numbers).code(code))
            guide = trace.guide()
            self.answers.insert(0, (guide, make_filler(guide)))
        except UNTRACED:
            self.untraced += 1
            return
        del self.answers[MOST_WAYS:]


@dataclass(slots=True)
class _Family:
    members: ValueCache = field(default_factory=lambda: ValueCache(64))
    stages: dict[Hashable, _Stage] = field(default_factory=dict)


_CODES: Final = ValueCache(256)
"""Equal codes are one object: it is checked and compiled once, whatever the programs around it."""
_FAMILIES: Final = ValueCache(256)
_MEMBERS: Final = IdentityCache(256)
_TYPED: Final = IdentityCache(256)
"""Codes whose fields have the declared types."""


def canonical_code(code: ElementCode) -> ElementCode:
    """Return one object for all equal codes: the first that was asked about.

    A code is what a class of elements holds and runs. Checks and compilation are kept by object, so
    equal codes of many programs are checked and compiled once. The last few hundred are remembered.
    """
    if code in _MEMBERS:
        return code
    parts = _split(code)
    if parts is None:
        return _CODES.first(code)
    family = _FAMILIES.of(parts[0], _Family)
    first_member = family.members.of(parts[1], lambda: code)
    _MEMBERS.of(first_member, "family", lambda: (family, parts[1]))
    return first_member


def _family_of(code: ElementCode) -> tuple[_Family, tuple[int, ...]] | None:
    def found() -> tuple[_Family, tuple[int, ...]] | None:
        parts = _split(code)
        return None if parts is None else (_FAMILIES.of(parts[0], _Family), parts[1])

    return _MEMBERS.of(code, "family", found)  # type: ignore[no-any-return]


def family_answer(
    code: ElementCode,
    question: Hashable,
    plain: Callable[[], R],
    traced: Callable[[ElementCode], Callable[[FamilyConditions], AnswerFiller[R]]],
) -> R:
    """Answer a question about a code, by formulas if a code with other numbers was solved before.

    A family is all codes that are equal but for numbers (lengths, offsets, strides, counts). For a
    few codes of a family the answer is computed with traced numbers, integers that remember how
    results depend on them; later codes get their answers by filling in their own numbers
    (engines.md §9).

    - question: names what is asked; answers are kept by family and question.
    - plain: computes the answer for this code alone. What it raises is passed on and never kept.
    - traced: computes it for a copy of the code with traced numbers; returns a maker of the filler,
      which later gives the answer from the numbers of another code.

    The result is the same as that of `plain()`.
    """
    member = _family_of(code)
    if member is None:
        return plain()
    family, numbers = member
    stage = family.stages.get(question)
    if stage is None:
        stage = family.stages[question] = _Stage()
    for guide, fill in stage.answers:
        slots = guide.slots_for(numbers)
        if slots is not None:
            return fill(code, slots)  # type: ignore[no-any-return]
    answer = plain()
    stage.learn(code, numbers, traced)
    return answer


def check_once(code: ElementCode, question: Hashable, check: Callable[[ElementCode], None]) -> None:
    """Run a check of a code, unless formulas say that a code of its family passes it.

    A family is all codes that are equal but for numbers (engines.md §9). The types of the code's
    fields are checked before. question: names the check. check: raises ProgramError, which is
    passed on.
    """

    def plain() -> None:
        _TYPED.of(code, "fields", lambda: check_fields(code, f"code {code.name}"))
        check(code)

    def traced(code: ElementCode) -> Callable[[FamilyConditions], AnswerFiller[None]]:
        check(code)
        return constant_answer(None)

    family_answer(code, question, plain, traced)
