"""Addresses of the tiles in an element's memory, so that the two reads of an operation do not meet.

The memory has banks of 4 words that take turns, so two vectors are read at once where their
addresses differ by 4 modulo 8 (theory/wafer.md §2.1). The output, which `fmacs` reads beside the
vector input, and each further vector input lie 4 words off the first vector input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.isa.number_types import DTYPES

PERIOD_WORDS = 8
"""Words after which the banks repeat."""
APART_WORDS = 4


@dataclass(frozen=True, slots=True)
class Addresses:
    """The first 16-bit word of each tensor's buffers, and the words in use up to the last one."""

    first_word: Mapping[str, int]
    words: int


@dataclass(frozen=True, slots=True, order=True)
class Taken:
    """Words of an element's memory that are in use: the first, and one behind the last."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class LeftTensors:
    """What lies in the elements' memories between Einsums.

    `offsets`: of tensors that may stay, the address modulo 8, 0 or 4. `first_word`: of the tensors
    that are there when an Einsum begins. `taken`: words of those that it does not use.
    """

    offsets: Mapping[str, int] = field(default_factory=dict)
    first_word: Mapping[str, int] = field(default_factory=dict)
    taken: tuple[Taken, ...] = ()


NOTHING_KEPT = LeftTensors()


def addresses_of(
    read: SpaceTime, reserved_bytes: int = 0, kept: LeftTensors = NOTHING_KEPT
) -> Addresses:
    """Place the buffers of all tensors in an element's memory, one behind the other.

    `reserved_bytes`: memory that the machine's own code takes. `kept`: what is in the memory
    already. Raises InfeasibleMapping, with the size of each tensor, if the memory is too small.
    """
    offsets, first_word = _offsets(read, kept), dict[str, int]()
    taken = list(kept.taken)
    for tensor in read.tensors:
        if tensor.name in kept.first_word:
            word = first_word[tensor.name] = kept.first_word[tensor.name]
            taken.append(Taken(word, word + words_of(tensor, read)))
    end = 0
    for tensor in sorted(read.tensors, key=lambda tensor: not tensor.resident):
        if tensor.name not in first_word:
            size = words_of(tensor, read)
            first_word[tensor.name] = free_word(end, size, offsets[tensor.name], taken)
            end = first_word[tensor.name] + size
    end = max(end, *(words.end for words in taken), 0)
    check_size(read, end, reserved_bytes)
    return Addresses(first_word, end)


def words_of(tensor: HeldTensor, read: SpaceTime) -> int:
    """Return the 16-bit words of a tensor's buffers in an element."""
    return tensor.buffers * tensor.values * DTYPES[read.dtype_of(tensor.name)]


def _offsets(read: SpaceTime, kept: LeftTensors) -> dict[str, int]:
    """Return the wanted address of each tensor modulo 8."""
    known = {name: offset for name, offset in kept.offsets.items() if name in read.staying}
    vectors = [tensor.name for tensor in read.inputs if tensor.name != read.scalar]
    output = read.output.name
    if vectors and vectors[0] in known:
        base = known[vectors[0]]
    else:
        base = (known[output] + APART_WORDS) % PERIOD_WORDS if output in known else 0
    apart = (base + APART_WORDS) % PERIOD_WORDS
    first = {vectors[0]: base} if vectors else {}
    scalar = {read.scalar: 0} if read.scalar is not None else {}
    return {**{tensor.name: apart for tensor in read.tensors}, **first, **scalar, **known}


def free_word(start: int, size: int, offset: int, taken: Sequence[Taken]) -> int:
    """Return the first word from `start` on, with an offset modulo 8, behind which `size` are free.

    `taken`: words that are not.
    """
    word = start + (offset - start) % PERIOD_WORDS
    for used in sorted(taken):
        if word < used.end and used.first < word + size:
            word = used.end + (offset - used.end) % PERIOD_WORDS
    return word


def check_size(read: SpaceTime, end: int, reserved_bytes: int) -> None:
    """Check that an element's memory has the words before `end`.

    `reserved_bytes`: memory that the machine's own code takes. Raises InfeasibleMapping, with the
    size of each tensor, if it has not.
    """
    free = (int(read.grid.memory.size) // 8 - reserved_bytes) // 2
    if end > free:
        sizes = ", ".join(f"{t.name} {words_of(t, read) * 2}" for t in read.tensors)
        raise InfeasibleMapping(
            f"{read.grid.memory.name} of an element has {2 * free} free bytes, the tiles need "
            f"{2 * end}",
            value=sizes,
            instead="smaller tiles, one buffer, or more elements",
        )
