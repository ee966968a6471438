"""Change a program so that labels keep the bits in use of some memories to the end."""

from __future__ import annotations

from dataclasses import replace

from tilewright.mapper.searches.program.program_steps import (
    ProgramStep,
    ReserveStep,
    TemplateProgram,
)
from tilewright.mapper.templates.slots import Reservation


def with_tracked_usage(program: TemplateProgram, memories: frozenset[str]) -> TemplateProgram:
    """Return a template's steps such that labels keep the bits in use of some memories to the end.

    Every reservation in `memories` is then summed in a column of the labels and none is dropped,
    as fronts over memory usage need. Without memories the same program comes back. A template is a
    mapping without its loops; a label is the tuple of costs of a partial mapping.
    """
    if not memories:
        return program
    steps: list[ProgramStep] = []
    numbers: list[int | None] = []
    pending = _reservations(program, memories)
    for step, number in zip(program.steps, program.slots, strict=True):
        while number is not None and pending and pending[0][0] > number:
            slot, reservation = pending.pop(0)
            steps.append(_tracked(reservation))
            numbers.append(slot)
        tracked_step = step
        if isinstance(step, ReserveStep) and step.reservation.component in memories:
            pending.pop(0)
            tracked_step = replace(step, is_shared=True, is_last=False)
        steps.append(tracked_step)
        numbers.append(number)
    for slot, reservation in pending:
        steps.append(_tracked(reservation))
        numbers.append(slot)
    return replace(program, steps=tuple(steps), slots=tuple(numbers))


def _tracked(reservation: Reservation) -> ReserveStep:
    return ReserveStep(reservation, is_shared=True, is_last=False)


def _reservations(
    program: TemplateProgram, memories: frozenset[str]
) -> list[tuple[int, Reservation]]:
    """Return the reservations in `memories` with their slots, innermost first.

    Left out are the slots in `deferred_slots`, whose bits are added once the lanes above them are
    known.
    """
    reservations = [
        (index, slot)
        for index, slot in enumerate(program.slot_sequence)
        if isinstance(slot, Reservation)
        and slot.component in memories
        and index not in program.deferred_slots
    ]
    return reservations[::-1]
