"""Choose the addresses of tiles in an element's memory so that two reads do not meet on a bank.

The memory has banks of 4 words that take turns, so two vectors are read at once where their
addresses differ by 4 modulo 8 (theory/wafer.md §2.1). The output, which `fmacs` reads beside the
vector input, and each further vector input lie 4 words off the first vector input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.workload.errors import OverfilledMemory
from tilewright.simulator.isa.number_types import DTYPES

PERIOD_WORDS = 8
"""Words after which the banks repeat."""
APART_WORDS = 4


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the tensors' tiles are in the memory of each element.

    `first_word`: by tensor, the address of its first 16-bit word; `words`: in use from address 0
    on.
    """

    first_word: Mapping[str, int]
    words: int


@dataclass(frozen=True, slots=True, order=True)
class Taken:
    """Words of an element's memory that are in use: `first`, and `end`, one behind the last."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class LeftTensors:
    """What is in the elements' memories when an Einsum begins: results left there, and weights.

    `offsets`: by tensor that may stay, the address modulo 8 at which it must begin, 0 or 4.
    `first_word`: addresses of tensors that the Einsum reads there. `taken`: words of those that it
    does not read.
    """

    def read_by(self, tensors: Iterable[str], staying: Set[str]) -> LeftTensors:
        """Return what of these decides on an Einsum: the places of its tensors, and others' words.

        tensors: the Einsum's. staying: those of them that other Einsums leave, or that it leaves.
        """
        names = tuple(tensors)
        return LeftTensors(
            {name: self.offsets[name] for name in names if name in {*self.offsets} & staying},
            {name: self.first_word[name] for name in names if name in self.first_word},
            self.taken,
        )

    @property
    def other_words(self) -> int:
        """16-bit words that tensors take which the Einsum does not read."""
        return sum(words.end - words.first for words in self.taken)

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
    offsets, first_word = wanted_offsets(read, kept), dict[str, int]()
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
    check_size(read, end, reserved_bytes, kept.other_words)
    return Addresses(first_word, end)


def words_of(tensor: HeldTensor, read: SpaceTime) -> int:
    """Return the 16-bit words that the buffers of a tensor, one or two, take in an element.

    An input that is there before the run is there for each instance of the Einsum.
    """
    is_persistent = tensor.resident and not tensor.access.output and tensor.name not in read.staying
    instances = read.einsum.n_instances if is_persistent else 1
    return instances * tensor.buffers * tensor.values * DTYPES[read.dtype_of(tensor.name)]


def wanted_offsets(read: SpaceTime, kept: LeftTensors) -> dict[str, int]:
    """Return the wanted address of each tensor of an Einsum modulo 8, 0 or 4.

    kept: its `offsets` are those of tensors that stay in the elements between Einsums.
    """
    kept_offsets = {name: offset for name, offset in kept.offsets.items() if name in read.staying}
    vector = next((each.name for each in read.inputs if each.name != read.scalar), None)
    if vector in kept_offsets:
        base = kept_offsets[vector]
    elif read.output.name in kept_offsets:
        base = (kept_offsets[read.output.name] + APART_WORDS) % PERIOD_WORDS
    else:
        base = 0
    apart = (base + APART_WORDS) % PERIOD_WORDS
    offsets = {tensor.name: apart for tensor in read.tensors}
    if vector is not None:
        offsets[vector] = base
    if read.scalar is not None:
        offsets[read.scalar] = 0
    return offsets | kept_offsets


def free_word(start: int, size: int, offset: int, taken: Sequence[Taken]) -> int:
    """Return the first address at which `size` words are free.

    start: least address; offset: what the address must be modulo 8; taken: words that are in use.
    Addresses count 16-bit words.
    """
    word = start + (offset - start) % PERIOD_WORDS
    for used in sorted(taken):
        if word < used.end and used.first < word + size:
            word = used.end + (offset - used.end) % PERIOD_WORDS
    return word


def free_words(grid: Grid, reserved_bytes: int) -> int:
    """Return the 16-bit words of an element's memory beside the machine's own code."""
    return max(0, int(grid.memory.size) // 8 - reserved_bytes) // 2


def check_size(read: SpaceTime, end: int, reserved_bytes: int, others: int = 0) -> None:
    """Check that the tiles of an Einsum fit the memory of an element of its grid.

    `read`: the mapping, whose grid names the memory. `end`: 16-bit words that the tiles take, from
    address 0 on. `reserved_bytes`: memory that the machine's own code takes beside them. `others`:
    words among them that tensors of other Einsums take. Raises InfeasibleMapping, with the bytes of
    each tensor's tiles, if they do not fit.
    """
    free = free_words(read.grid, reserved_bytes)
    if end > free:
        sizes = ", ".join(f"{t.name} {words_of(t, read) * 2}" for t in read.tensors)
        sizes += f", tensors of other Einsums {2 * others}" if others else ""
        raise OverfilledMemory(
            f"{read.grid.memory.name} of an element has {2 * free} free bytes, the tiles need "
            f"{2 * end}",
            value=sizes,
            instead="smaller tiles, one buffer, or more elements"
            if free
            else f"more than {reserved_bytes:,} bytes, which the machine's own code takes",
        )
