"""Reads of memory that nothing has written: a run that is to note them keeps a bit per word.

The bits lie behind the memory of all elements. An operation's sources are looked at when it begins,
and its destination counts as written from then on; so what ends early, by a control wavelet or a
FIFO, may hide a read. Memory that the run's data gives is written.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import FeatureArguments, inner_kernel
from tilewright.simulator.engine.operation_steps import fail
from tilewright.simulator.engine.rare.races import (
    SCALAR,
    first_line,
    holds,
    line_at,
    line_count,
    row_of,
)
from tilewright.simulator.engine.values.places import OperandPlace


@inner_kernel
def is_written(store: Table, memory: Memory, word: int) -> Word:
    """Return whether a 16-bit word of the memory of all elements has been written."""
    return memory[store[at.S_WRITTEN] + (word >> 5)] >> (word & 31) & 1


@inner_kernel
def mark_written(store: Table, memory: Memory, place: OperandPlace, row: int) -> None:
    """Note that all words of an operand are written; place, row: as of `line_at`."""
    for number in range(line_count(store, place, row)):
        line = line_at(store, place, row, number)
        for i in range(line.values):
            for part in range(line.wide):
                word = line.start + i * line.stride + part
                memory[store[at.S_WRITTEN] + (word >> 5)] |= 1 << (word & 31)


@inner_kernel
def writes_itself(store: Table, place: OperandPlace, row: int, word: int) -> Word:
    """Return whether an operation may itself write a word of a source before it reads it.

    It may if the word is one of its destination, unless destination and source begin at the same
    word with the same stride: then each value is read before it is written. word: address in 16-bit
    words.
    """
    dest_row = (
        row_of(store, place.thread, 0) if place.thread >= 0 and place.operand < SCALAR else -1
    )
    if dest_row < 0:
        return False
    dest = OperandPlace(place.element, place.thread, 0)
    source_line, dest_line = first_line(store, place, row), first_line(store, dest, dest_row)
    if source_line.start == dest_line.start and source_line.stride == dest_line.stride:
        return False
    for number in range(line_count(store, dest, dest_row)):
        if holds(line_at(store, dest, dest_row, number), word):
            return True
    return False


@inner_kernel
def look_at_source(store: Table, memory: Memory, place: OperandPlace, row: int) -> Word:
    """Look for a word of a source that nothing has written; keep the first one of the run.

    place, row: as of `line_at`. Returns whether there is one.
    """
    for number in range(line_count(store, place, row)):
        line = line_at(store, place, row, number)
        for i in range(line.values):
            for part in range(line.wide):
                word = line.start + i * line.stride + part
                if is_written(store, memory, word) or writes_itself(store, place, row, word):
                    continue
                note_read(store, place, word)
                return True
    return False


@inner_kernel
def note_read(store: Table, place: OperandPlace, word: int) -> None:
    """Count a read of a word that nothing has written, and keep the first one of the run."""
    element, thread, _ = place
    store[at.S_UNWRITTEN] += 1
    if store[at.S_UNWRITTEN] == 1:
        store[at.S_UNWRITTEN_CYCLE] = store[at.S_CYCLE]
        store[at.S_UNWRITTEN_ELEMENT] = element
        instruction = store[element + at.E_PC] - at.I_WIDTH
        store[at.S_UNWRITTEN_ROW] = store[thread + at.T_OP] if thread >= 0 else instruction
        store[at.S_UNWRITTEN_WORD] = word - store[element + at.E_MEMORY]
    if store[at.S_REFUSES_UNWRITTEN] != 0:
        fail(store, at.ERROR_UNWRITTEN, element, store[at.S_UNWRITTEN_ROW], 0)


@inner_kernel
def operation_reads(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:
    """Look at the sources of an operation that begins, and mark what it writes.

    `arguments` are (addresses of the element and of its thread, whose operands are loaded, 0, 0).
    Returns whether it reads what nothing has written.
    """
    element, thread, _, _ = arguments
    op = store[thread + at.T_OP]
    missing = False
    for operand in range(1, 3):
        row = row_of(store, thread, operand)
        started = store[op + at.O_REDUCTION] == 1 and operand == 1  # the sum has its start value
        if row < 0 or missing or started:
            continue
        missing = look_at_source(store, memory, OperandPlace(element, thread, operand), row)
    row = store[op + at.O_SCALAR_ROW]
    if row >= 0 and store[row + at.D_KIND] == at.MEMORY and not missing:
        missing = look_at_source(store, memory, OperandPlace(element, thread, SCALAR), row)
    row = row_of(store, thread, 0)
    if row >= 0:
        mark_written(store, memory, OperandPlace(element, thread, 0), row)
    return missing


@inner_kernel
def scalar_reads(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:
    """Look at the sources of a scalar instruction, and mark what it writes.

    `arguments` are (addresses of the element and of the scalar operation, 0, 0). Returns whether it
    reads what nothing has written.
    """
    element, row, _, _ = arguments
    missing = False
    for operand in (at.U_LEFT, at.U_RIGHT):
        if store[row + operand] == at.ELEMENT and not missing:
            place = OperandPlace(element, -1, operand)
            missing = look_at_source(store, memory, place, store[row + operand + 1])
    if store[row + at.U_DEST] == at.ELEMENT:
        place = OperandPlace(element, -1, at.U_DEST)
        mark_written(store, memory, place, store[row + at.U_DEST_VALUE])
    return missing
