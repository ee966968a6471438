"""The code of an element that runs several Einsums: their turns one after the other in one task.

Each Einsum's part is written as for itself (element_program.py). Then its descriptors get the name
of the Einsum in front, and its queues and colors those of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.simulator.instructions.control_flow import If, Loop
from tilewright.simulator.instructions.element_map import Map
from tilewright.simulator.isa.dsd import Dsd, Fabin, Fabout, Mem1d, Mem4d, Operand, Ref, Register
from tilewright.simulator.lowering.element_program import AFTER, BEFORE, FIRST, TURN
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.program import ElementCode, Queue, Task


@dataclass(frozen=True, slots=True)
class CodePart:
    """What the elements of a role run of one Einsum of a pipeline.

    `einsum`: its name; `number`: its place, from 0 on, by which the registers that it names are
    moved; `code`: with the tasks of `write_turn`; `colors`: by color of the Einsum,
    the color of the pipeline.
    """

    einsum: str
    number: int
    code: ElementCode
    colors: Mapping[str, str]

    def body(self, task: str) -> tuple[Instruction, ...]:
        """Return the instructions of one of the tasks, with the names of descriptors changed."""
        bodies = (each.body for each in self.code.tasks if each.name == task)
        return tuple(self._renamed(step) for step in next(bodies))

    def name(self, dsd: str) -> str:
        """Return the name of a descriptor in the joined code."""
        return f"{self.einsum}_{dsd}"

    def _renamed(self, step: Instruction) -> Instruction:
        match step:
            case DsdOperation():
                dest, sources = self._operand(step.dest), tuple(map(self._operand, step.sources))
                return replace(step, dest=dest, sources=sources)
            case LoadRegister():
                return replace(step, dsd=self.name(step.dsd), register=self._own(step.register))
            case Loop():
                return replace(step, body=tuple(map(self._renamed, step.body)))
            case If():
                then, otherwise = (
                    tuple(map(self._renamed, body)) for body in (step.then, step.otherwise)
                )
                return replace(step, then=then, otherwise=otherwise)
            case Map():
                inputs = tuple((name, self._operand(operand)) for name, operand in step.inputs)
                output = step.output and (step.output[0], self._operand(step.output[1]))
                return replace(step, inputs=inputs, output=output, body=tuple(
                    map(self._renamed, step.body)))  # fmt: skip
        return step

    def _operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Register):
            return self._own(operand)
        return replace(operand, dsd=self.name(operand.dsd)) if isinstance(operand, Ref) else operand

    def _own(self, register: Register) -> Register:
        return replace(register, id=register.id + self.number)


@dataclass(slots=True)
class _Queues:
    """Numbers of queues by color, in the order in which they are asked for."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, color: str) -> int:
        return self.numbers.setdefault(color, len(self.numbers))

    @property
    def queues(self) -> tuple[Queue, ...]:
        return tuple(Queue(number, color) for color, number in self.numbers.items())


def joined_code(name: str, parts: Sequence[CodePart], turns: int, *, peeled: bool) -> ElementCode:
    """Return the code of elements that run the parts of several Einsums, in their order.

    `turns`: of the loop around them; 1 if there is none. `peeled`: whether the first turn stands in
    front of the loop.
    """
    inputs, outputs = _Queues(), _Queues()
    buffers: dict[str, Any] = {}
    dsds: list[Dsd] = []
    for part in parts:
        for buffer in part.code.buffers:
            buffers.setdefault(buffer.name, buffer)
        dsds += [_descriptor(part, dsd, inputs, outputs) for dsd in part.code.dsds]
    return ElementCode(
        name,
        tuple(buffers.values()),
        tuple(dsds),
        inputs.queues,
        outputs.queues,
        (Task("work", _body(parts, turns, peeled=peeled), entry=True),),
    )


def _body(parts: Sequence[CodePart], turns: int, *, peeled: bool) -> tuple[Instruction, ...]:
    def all_of(task: str) -> tuple[Instruction, ...]:
        return tuple(step for part in parts for step in part.body(task))

    if turns == 1:
        return all_of(TURN)
    first = all_of(FIRST) if peeled else ()
    loop = Loop(TURN, turns - peeled, all_of(TURN))
    return (*all_of(BEFORE), *first, loop, *all_of(AFTER))


def _descriptor(part: CodePart, dsd: Dsd, inputs: _Queues, outputs: _Queues) -> Dsd:
    """Return a descriptor of a part in the joined code, with its queue there."""
    match dsd:
        case Fabin():
            color = _color(part, part.code.input_queues, dsd.queue)
            return replace(dsd, name=part.name(dsd.name), queue=inputs.number(color))
        case Fabout():
            color = _color(part, part.code.output_queues, dsd.queue)
            return replace(dsd, name=part.name(dsd.name), queue=outputs.number(color))
        case Mem1d() | Mem4d():
            return replace(dsd, name=part.name(dsd.name))
    raise AssertionError(dsd)


def _color(part: CodePart, queues: Sequence[Queue], number: int) -> str:
    return part.colors[next(queue.color for queue in queues if queue.id == number)]
