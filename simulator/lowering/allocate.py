"""Pass 2, allocate: addresses of the tiles of tensors in an element's memory."""

from __future__ import annotations

from tilewright.mapper.grid.candidate import Candidate
from tilewright.mapper.layout import MemoryMap
from tilewright.mapper.workload.errors import InfeasibleMapping

WORD_BITS = 16
F32_WORDS = 2
ALIGN_WORDS = 4  # 64 bits, the width of a read port (wafer.md §2.1)


def allocate(candidate: Candidate, reserved_bytes: int = 0) -> MemoryMap:
    """Assign addresses in an element's memory to the tiles of a candidate's tensors.

    Addresses and sizes count 16-bit words; tiles begin on multiples of 4 words (64 bits). Resident
    tensors (in memory for the whole run) come first, then the others in their order; a tensor with
    two buffers gets both copies. reserved_bytes: memory of each element that the machine's own code
    takes. Returns the memory map. Raises InfeasibleMapping, with the numbers, if the rest of the
    memory is too small, or if a tensor has another width than 32 bits per value.
    """
    memory = candidate.grid.memory
    capacity = (int(memory.size) // 8 - reserved_bytes) // 2
    placed = MemoryMap(capacity)
    for tensor in sorted(candidate.tensors, key=lambda tensor: not tensor.resident):
        _check_width(candidate, tensor.name)
        size = tensor.tile_elements * F32_WORDS
        try:
            placed = placed.place(tensor.name, size, tensor.copies, ALIGN_WORDS)
        except InfeasibleMapping as error:
            raise InfeasibleMapping(
                f"{memory.name} with {2 * capacity} free bytes is too small: {error.what}",
                instead=error.instead,
            ) from error
    return placed


def _check_width(candidate: Candidate, tensor: str) -> None:
    bits = candidate.einsum.access(tensor).bits_per_value
    if bits != WORD_BITS * F32_WORDS:
        raise InfeasibleMapping(
            f"{tensor} has {bits} bits per value; elements are lowered to float32 only",
            instead="bits_per_value: 32",
        )
