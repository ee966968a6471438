"""Keep in a label how much of some memories is used, from the first reservation to the end."""

from __future__ import annotations

from dataclasses import replace

from tilewright.mapper.searches.program.program import ProgramStep, ReserveStep, TemplateProgram
from tilewright.mapper.templates.slots import Reservation


def with_tracked_usage(program: TemplateProgram, memories: frozenset[str]) -> TemplateProgram:
    """Return `program` with every reservation in `memories` summed and none forgotten.

    Where in the program a reservation is made is free as long as no loop lies between: it does not
    change the tile.
    """
    if not memories:
        return program
    operations: list[ProgramStep] = []
    numbers: list[int | None] = []
    waiting = _reserves(program, memories)
    for made, number in zip(program.steps, program.slots, strict=True):
        while number is not None and waiting and waiting[0][0] > number:
            index, slot = waiting.pop(0)
            operations.append(ReserveStep(slot, True, False))
            numbers.append(index)
        operation = made
        if isinstance(made, ReserveStep) and made.reserve.component in memories:
            waiting.pop(0)
            operation = replace(made, shared=True, last=False)
        operations.append(operation)
        numbers.append(number)
    for index, slot in waiting:
        operations.append(ReserveStep(slot, True, False))
        numbers.append(index)
    return replace(program, steps=tuple(operations), slots=tuple(numbers))


def _reserves(program: TemplateProgram, memories: frozenset[str]) -> list[tuple[int, Reservation]]:
    """Return the reservations in `memories` with their slots, innermost first."""
    found = [
        (index, slot)
        for index, slot in enumerate(program.slot_sequence)
        if isinstance(slot, Reservation)
        and slot.component in memories
        and index not in program.deferred_slots
    ]
    return found[::-1]
