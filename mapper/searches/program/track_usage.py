"""Keep in a label how much of some memories is used, from the first reservation to the end."""

from __future__ import annotations

from dataclasses import replace

from tilewright.mapper.searches.program.program import Occupy, Operation, Program
from tilewright.mapper.templates.slots import Reservation


def tracking(program: Program, memories: frozenset[str]) -> Program:
    """Return `program` with every reservation in `memories` summed and none forgotten.

    Where in the program a reservation is made is free as long as no loop lies between: it does not
    change the tile.
    """
    if not memories:
        return program
    operations: list[Operation] = []
    numbers: list[int | None] = []
    waiting = _reserves(program, memories)
    for made, number in zip(program.operations, program.slots, strict=True):
        while number is not None and waiting and waiting[0][0] > number:
            index, slot = waiting.pop(0)
            operations.append(Occupy(slot, True, False))
            numbers.append(index)
        operation = made
        if isinstance(made, Occupy) and made.reserve.component in memories:
            waiting.pop(0)
            operation = replace(made, shared=True, last=False)
        operations.append(operation)
        numbers.append(number)
    for index, slot in waiting:
        operations.append(Occupy(slot, True, False))
        numbers.append(index)
    return replace(program, operations=tuple(operations), slots=tuple(numbers))


def _reserves(program: Program, memories: frozenset[str]) -> list[tuple[int, Reservation]]:
    """Return the reservations in `memories` with their slots, innermost first."""
    found = [
        (index, slot)
        for index, slot in enumerate(program.slot_sequence)
        if isinstance(slot, Reservation)
        and slot.component in memories
        and index not in program.owing
    ]
    return found[::-1]
