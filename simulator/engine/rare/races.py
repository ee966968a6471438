"""Races for memory: work on words that a running microthread touches, where one of the two writes.

Nothing orders the two, so on the machine the values depend on chance. A microthread touches the
words of its operands from its start to its end; two accesses of the main thread are in order.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import (
    FeatureArguments,
    inline_kernel,
    inner_kernel,
    part_kernel,
)
from tilewright.simulator.engine.operation_steps import fail, start_of
from tilewright.simulator.engine.rare.special_extent import length_of
from tilewright.simulator.engine.values.places import OperandPlace

SCALAR: Final = 3
"""Number of the scalar among the operands of an operation."""


class WordLine(NamedTuple):
    """Hold the words of values at equal distances: `values` values of `wide` words each.

    start: address of the first one in 16-bit words, in the memory of all elements; stride: words
    from one value to the next.
    """

    start: int
    stride: int
    values: int
    wide: int


class Reach(NamedTuple):
    """Hold bounds of the 16-bit words that an operand touches: `low` <= word < `high`.

    For the rows of a two-dimensional tile they are narrower. Modulo `period`, the words from one
    row to the next, all touched words lie in `width` words from `start` on: so two tiles side by
    side are seen to be apart. A period of 0 says nothing of this kind.
    """

    low: int
    high: int
    start: int
    width: int
    period: int


class PlacePair(NamedTuple):
    """Name two operands that may touch the same words.

    `begun`: of the operation or instruction that begins; `running`: of an operation that runs
    already.
    """

    begun: OperandPlace
    running: OperandPlace


@part_kernel
def is_scalar(place: OperandPlace) -> Word:
    """Return whether an operand is a single value: a scalar, or of a scalar instruction."""
    return place.thread < 0 or place.operand == SCALAR


@inline_kernel
def row_of(store: Table, thread: int, operand: int) -> Word:
    """Return the operand row that a thread uses, or -1 if it is not in memory.

    thread: address of an operation in flight; operand: 0 is the destination, 1 and 2 are the
    sources.
    """
    op = store[thread + at.T_OP]
    row = store[op + at.O_OPERANDS + operand]
    if store[op + at.O_SPECIAL] == 1:
        row = store[thread + at.T_ROWS + operand]
    if row < 0 or store[row + at.D_KIND] != at.MEMORY:
        return -1
    return row


@inline_kernel
def writes(store: Table, thread: int, operand: int) -> Word:
    """Return whether a thread's operation writes an operand: its destination, a cleared source.

    operand: 0 is the destination, 1 and 2 are the sources; a source may be set to zero after the
    operation.
    """
    return operand == 0 or store[store[thread + at.T_OP] + at.O_ZERO] == operand


@inline_kernel
def values_of(store: Table, place: OperandPlace) -> Word:
    """Return the number of values of an operand in memory that the operation touches."""
    if is_scalar(place):
        return 1
    op = store[place.thread + at.T_OP]
    if store[op + at.O_SPECIAL] == 0:
        return store[op + at.O_EXTENT]
    length = length_of(store, place.thread, place.operand)
    if length == at.EMPTY:
        return 0
    return max(1, length)  # a pointer has no length of its own


@inline_kernel
def first_line(store: Table, place: OperandPlace, row: int) -> WordLine:
    """Return an operand's values as if they all lay in one line, along its inner dimension."""
    start = start_of(store, place.element, row) if is_scalar(place) else 0
    stride = store[row + at.D_STRIDE]
    if not is_scalar(place):
        start = store[place.thread + at.T_ORIGIN + place.operand]
        if store[row + at.D_STRIDE_ROW] >= 0:
            stride = store[place.thread + at.T_STRIDE + place.operand]
    return WordLine(start, stride, values_of(store, place), store[row + at.D_WIDE])


@part_kernel
def ring_offset(store: Table, place: OperandPlace) -> Word:
    """Return the words from the start of a circular buffer to the operand's first value."""
    return store[place.thread + at.T_RING_OFFSET + place.operand]


@inner_kernel
def reach_of(store: Table, place: OperandPlace, row: int) -> Reach:
    """Return bounds of the words that an operand in memory touches; row: of the operand."""
    start, stride, values, wide = first_line(store, place, row)
    if store[row + at.D_DIMENSIONS] > 1:
        low, high = start + store[row + at.D_LOW], start + store[row + at.D_HIGH] + wide
        back = (store[row + at.D_EXTENT] - 1) * stride
        width = abs(back) + wide
        period = abs(store[row + at.D_STRIDE + 1] + back)
        if store[row + at.D_DIMENSIONS] > 2 or width > period:
            period = 0
        return Reach(low, high, start + min(back, 0), width, period)
    if store[row + at.D_WRAP] > 0:
        start -= ring_offset(store, place)
        return Reach(start, start + store[row + at.D_WRAP] + wide, start, 0, 0)
    back = (values - 1) * stride
    low = start + min(back, 0)
    width = abs(back) + wide if values > 0 else 0
    return Reach(low, low + width, low, width, 0)


@inline_kernel
def are_apart(first: Reach, second: Reach) -> Word:
    """Return whether two operands surely share no word, judged by their bounds alone.

    first, second: bounds of each operand's words. False says nothing.
    """
    if first.low >= second.high or second.low >= first.high:
        return True
    period = max(first.period, second.period)
    if min(first.period, second.period) not in (0, period) or period == 0:
        return False
    if first.width == 0 or second.width == 0 or max(first.width, second.width) > period:
        return False
    distance = (second.start - first.start) % period
    return distance >= first.width and distance + second.width <= period


@inner_kernel
def line_count(store: Table, place: OperandPlace, row: int) -> Word:
    """Return in how many lines an operand's words lie: rows of a mem4d, turns around a ring.

    A mem4d is a descriptor of several dimensions, a ring a circular buffer. Turns that only touch
    words of earlier ones are left out. Other operands are one line.
    """
    values = values_of(store, place)
    if store[row + at.D_DIMENSIONS] > 1:
        inner = store[row + at.D_EXTENT]
        return (values + inner - 1) // inner
    wrap = store[row + at.D_WRAP]
    if wrap == 0 or values == 0:
        return 1
    stride = store[row + at.D_STRIDE]
    return min((ring_offset(store, place) + (values - 1) * stride) // wrap, stride + 1) + 1


@inner_kernel
def line_at(store: Table, place: OperandPlace, row: int, number: int) -> WordLine:
    """Return one of the lines in which an operand's words lie.

    place, row: the operand and its row; number: of the line, from 0 to `line_count` - 1.
    """
    start, stride, values, wide = first_line(store, place, row)
    wrap = store[row + at.D_WRAP]
    if store[row + at.D_DIMENSIONS] > 1:
        inner = store[row + at.D_EXTENT]
        back = (inner - 1) * stride
        left = number
        for d in range(1, store[row + at.D_DIMENSIONS]):
            step = store[row + at.D_STRIDE + d] + back
            extent = store[row + at.D_EXTENT + d]
            start += left % extent * step
            left //= extent
            back += (extent - 1) * step
        return WordLine(start, stride, min(inner, values - number * inner), wide)
    if wrap == 0 or values == 0:
        return WordLine(start, stride, values, wide)
    offset = ring_offset(store, place)
    first = max(0, -((offset - number * wrap) // stride))
    behind = min(values, -((offset - (number + 1) * wrap) // stride))
    return WordLine(start + first * stride - number * wrap, stride, behind - first, wide)


@inner_kernel
def holds(line: WordLine, word: int) -> Word:
    """Return whether a word is one of a line's."""
    reach = (line.values - 1) * line.stride
    distance = word - line.start - min(reach, 0)
    if distance < 0 or distance >= abs(reach) + line.wide:
        return False
    return line.stride == 0 or distance % abs(line.stride) < line.wide


@inner_kernel
def common_word(first: WordLine, second: WordLine) -> Word:
    """Return an address of a 16-bit word that both lines hold, -1 if there is none."""
    if first.values <= 0 or second.values <= 0:
        return -1
    reach, other_reach = (first.values - 1) * first.stride, (second.values - 1) * second.stride
    low = max(first.start + min(reach, 0), second.start + min(other_reach, 0))
    high = min(
        first.start + max(reach, 0) + first.wide, second.start + max(other_reach, 0) + second.wide
    )
    if low >= high:
        return -1
    if holds(first, low) and holds(second, low):
        return low
    walked, other = first, second
    if second.values < first.values:
        walked, other = second, first
    for i in range(walked.values):
        for word in range(walked.wide):
            address = walked.start + i * walked.stride + word
            if low <= address < high and holds(other, address):
                return address
    return -1


@inner_kernel
def shared_word(store: Table, places: PlacePair, row: int, other_row: int) -> Word:
    """Return a word that two operands have in common, or -1.

    places: of both operands; row, other_row: their rows, in memory.
    """
    begun, running = places
    for number in range(line_count(store, begun, row)):
        line = line_at(store, begun, row, number)
        for other in range(line_count(store, running, other_row)):
            word = common_word(line, line_at(store, running, other_row, other))
            if word >= 0:
                return word
    return -1


@inner_kernel
def note_race(store: Table, places: PlacePair, word: int) -> None:
    """Keep the first race of a run, and count all; it is an error unless the run only notes them.

    places: what has begun (thread -1: a scalar instruction), and the running operation; word: a
    word that both touch, in the memory of all elements.
    """
    (element, thread, operand), other = places
    store[at.S_RACES] += 1
    row = store[thread + at.T_OP] if thread >= 0 else -1
    if store[at.S_RACES] == 1:
        store[at.S_RACE_CYCLE] = store[at.S_CYCLE]
        store[at.S_RACE_ELEMENT] = element
        store[at.S_RACE_ROW] = row if thread >= 0 else store[element + at.E_PC] - at.I_WIDTH
        store[at.S_RACE_OPERAND] = operand
        store[at.S_RACE_THREAD] = other.thread
        store[at.S_RACE_OTHER] = store[other.thread + at.T_OP]
        store[at.S_RACE_OTHER_OPERAND] = other.operand
        store[at.S_RACE_START] = store[other.thread + at.T_START]
        store[at.S_RACE_WORD] = word - store[element + at.E_MEMORY]
    if store[at.S_NOTES_RACES] == 0:
        fail(store, at.ERROR_RACE, element, row, 0)


@part_kernel
def is_beside(store: Table, running: int, thread: int, first: int) -> Word:
    """Return whether a thread has an operation that runs beside what begins.

    running: address of this thread; thread: address of the one that begins, -1 for a scalar
    instruction; first: address of the main thread, all of whose work is in order.
    """
    state = store[running + at.T_STATE]
    if state == at.FREE or running == thread:
        return False
    on_main = thread <= first or store[thread + at.T_STATE] == at.MAPPING
    return state != at.MAPPING or not on_main


@inner_kernel
def operand_races(store: Table, place: OperandPlace, row: int, written: int) -> Word:
    """Look for a race of an operand with all running operations; return whether it has one.

    The race is noted (`note_race`). place: of an operation that begins (thread -1: a scalar
    instruction); row: of its operand in memory; written: whether it writes the operand.
    """
    element, thread, _ = place
    first = store[element + at.E_THREADS]
    reach = reach_of(store, place, row)
    for slot in range(store[element + at.E_THREAD_COUNT]):
        running = first + slot * at.T_WIDTH
        if not is_beside(store, running, thread, first):
            continue
        for operand in range(3):
            other_row = row_of(store, running, operand)
            if other_row < 0 or not (written or writes(store, running, operand)):
                continue
            other = OperandPlace(element, running, operand)
            if are_apart(reach, reach_of(store, other, other_row)):
                continue
            word = shared_word(store, PlacePair(place, other), row, other_row)
            if word >= 0:
                note_race(store, PlacePair(place, other), word)
                return True
    return False


@inner_kernel
def operation_races(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Look for a race of an operation that begins; return whether there is one.

    `arguments` are (addresses of the element and of its thread, whose operands are loaded, 0, 0).
    """
    element, thread, _, _ = arguments
    for operand in range(3):
        row = row_of(store, thread, operand)
        if row < 0:
            continue
        written = writes(store, thread, operand)
        if operand_races(store, OperandPlace(element, thread, operand), row, written):
            return True
    row = store[store[thread + at.T_OP] + at.O_SCALAR_ROW]
    if row < 0 or store[row + at.D_KIND] != at.MEMORY:
        return False
    return operand_races(store, OperandPlace(element, thread, SCALAR), row, False)


@inner_kernel
def scalar_races(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Look for a race of a scalar instruction; return whether there is one.

    `arguments` are (addresses of the element and of the scalar operation, 0, 0).
    """
    element, row, _, _ = arguments
    for operand in (at.U_DEST, at.U_LEFT, at.U_RIGHT):
        if store[row + operand] != at.ELEMENT:
            continue
        place = OperandPlace(element, -1, operand)
        if operand_races(store, place, store[row + operand + 1], operand == at.U_DEST):
            return True
    return False
