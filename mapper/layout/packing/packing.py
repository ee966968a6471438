"""Pack tile buffers into one memory: those alive together never overlap (layouts.md §11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.layout.packing.capacity_failure import no_room
from tilewright.mapper.layout.rotation import ModuloRotation
from tilewright.mapper.layout.tile_placement import TilePlacement
from tilewright.mapper.workload.errors import InfeasibleMapping

MOST_STEPS: Final = 50_000


@dataclass(frozen=True, slots=True)
class PackedBuffer:
    """A buffer with the address of its first tile, in bytes."""

    request: BufferRequest
    address: int

    @property
    def end(self) -> int:
        """Address of the first byte behind the buffer."""
        return self.address + self.request.bytes

    def placement(self, blocks: int) -> TilePlacement:
        """Return where a stream of blocks lies: block i in tile i mod depth."""
        return TilePlacement(
            blocks=(blocks,),
            tile_bytes=self.request.tile_bytes,
            address=ModuloRotation(self.address, self.request.stride, (self.request.depth,)),
        )


@dataclass(frozen=True, slots=True)
class PackedMemory:
    """Buffers of one memory with addresses; raises SpecError if two alive together overlap.

    `capacity`: bytes of the memory that buffers may use; `buffers`: in the order of the requests.
    """

    capacity: int
    buffers: tuple[PackedBuffer, ...]

    def __post_init__(self) -> None:
        for buffer in self.buffers:
            if buffer.address < 0 or buffer.end > self.capacity:
                raise SpecError(
                    f"buffer {buffer.request.name} ends at {buffer.end} of {self.capacity} bytes"
                )
        for first, second in combinations(self.buffers, 2):
            byte = max(first.address, second.address)
            if first.request.alive_with(second.request) and byte < min(first.end, second.end):
                raise SpecError(
                    f"buffers {first.request.name} and {second.request.name} are alive together "
                    f"and both have byte {byte}"
                )

    @property
    def used(self) -> int:
        """Address of the first byte behind all buffers; 0 without buffers."""
        return max((buffer.end for buffer in self.buffers), default=0)

    def buffer(self, name: str) -> PackedBuffer:
        """Return the buffer of a name; KeyError if there is none."""
        for buffer in self.buffers:
            if buffer.request.name == name:
                return buffer
        raise KeyError(name)

    def _repr_svg_(self) -> str:
        """Return the picture that a notebook shows."""
        from tilewright.mapper.layout.packing.memory_picture import memory_picture

        return memory_picture(self)

    def alive(self, step: int) -> tuple[PackedBuffer, ...]:
        """Return the buffers that are alive at a step."""
        return tuple(b for b in self.buffers if b.request.first <= step <= b.request.last)


def pack(requests: Sequence[BufferRequest], capacity: int, unit: str = "") -> PackedMemory:
    """Return addresses for all buffers, with the first choice of residues that fits.

    `capacity`: bytes; `unit`: whose memory it is, for the error. Raises InfeasibleMapping if none
    exists, with the unit, the step at which the most bytes are alive, the buffers alive then and
    the smallest change that would fit; it says so if the search ended after 50,000 steps instead of
    a proof.
    """
    steps = [MOST_STEPS]
    packed = _first(requests, capacity, steps)
    if packed is None:
        raise _no_room(requests, capacity, proven=steps[0] > 0, unit=unit)
    return packed


def fits(requests: Sequence[BufferRequest], capacity: int) -> bool:
    """Tell whether `pack` finds addresses for all buffers."""
    return _first(requests, capacity, [MOST_STEPS]) is not None


def packings(
    requests: Sequence[BufferRequest], capacity: int, unit: str = ""
) -> Iterator[PackedMemory]:
    """Yield one packing for each choice of residues (banks) that has one.

    The search of each choice takes at most 50,000 steps; choices for which that is not enough are
    left out. Raises InfeasibleMapping like `pack` if there is none at all.
    """
    proven, fits = True, False
    for residues in product(*(request.residues for request in requests)):
        steps = [MOST_STEPS]
        packed = _search(requests, residues, capacity, steps)
        proven = proven and steps[0] > 0
        if packed is not None:
            fits = True
            yield packed
    if not fits:
        raise _no_room(requests, capacity, proven=proven, unit=unit)


def _first(
    requests: Sequence[BufferRequest], capacity: int, steps: list[int]
) -> PackedMemory | None:
    """Return the packing for the first choice of residues (banks) that has one; None without any.

    `steps`: what is left of the budget.
    """
    for residues in product(*(request.residues for request in requests)):
        packed = _search(requests, residues, capacity, steps)
        if packed is not None:
            return packed
    return None


def _no_room(
    requests: Sequence[BufferRequest], capacity: int, *, proven: bool, unit: str
) -> InfeasibleMapping:
    return no_room(
        requests, capacity, lambda others: fits(others, capacity), proven=proven, unit=unit
    )


def _search(
    requests: Sequence[BufferRequest], residues: Sequence[int], capacity: int, steps: list[int]
) -> PackedMemory | None:
    """Place buffers one after the other, each at the lowest address above those alive with it.

    Tries every order, largest first, which finds a packing if there is one (layouts.md §11).
    `residues`: of each buffer's address. `steps`: what is left of the budget. None if there is
    none.
    """
    order = sorted(range(len(requests)), key=lambda n: (-requests[n].bytes, n))
    addresses: dict[int, int] = {}

    def place(left: tuple[int, ...]) -> bool:
        if not left:
            return True
        for number in left:
            steps[0] -= 1
            if steps[0] <= 0:
                return False
            request = requests[number]
            address = request.lowest(_end_below(request, requests, addresses), residues[number])
            if address + request.bytes > capacity:
                return False  # every later place of this buffer is as high or higher
            addresses[number] = address
            if place(tuple(n for n in left if n != number)):
                return True
            del addresses[number]
        return False

    if not place(tuple(order)):
        return None
    buffers = tuple(PackedBuffer(r, addresses[n]) for n, r in enumerate(requests))
    return PackedMemory(capacity, buffers)


def _end_below(
    request: BufferRequest, requests: Sequence[BufferRequest], addresses: Mapping[int, int]
) -> int:
    """Return the end in bytes of the highest placed buffer alive together with a request.

    `addresses`: of the placed buffers, by number in `requests`.
    """
    ends = [
        address + requests[n].bytes
        for n, address in addresses.items()
        if request.alive_with(requests[n])
    ]
    return max(ends, default=0)
