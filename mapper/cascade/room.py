"""The memories that a cascade uses: the outermost one, and the one that tensors may stay in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from tilewright.arch.components import Memory
from tilewright.arch.flat import FlatArch
from tilewright.mapper.cascade.layout import memories_of
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.searches.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class Room:
    """`outer`: the memory of everything; `inner`: the one that exchanged tensors may stay in (None:
    there is none); `capacity`: its bits, inf when all tensors fit into it together.
    """

    outer: str
    inner: str | None
    capacity: float

    @property
    def crowded(self) -> frozenset[str]:
        """The second memory, if what other Einsums leave there may be too much."""
        return frozenset((self.inner,)) if self.inner and self.capacity < inf else frozenset()


def room_of(runs: Sequence[tuple[Einsum, FlatArch]]) -> Room:
    """Check the memories that the Einsums see on the ways to their computes.

    UnsupportedFeature if they differ, or if the outermost memory could overflow.
    """
    found = [memories_of(flat) for _, flat in runs]
    outer = _one([pair[0] for pair in found], "outermost memory")
    needed = sum(_whole_bits(einsum, outer) for einsum, _ in runs)
    if needed > outer.size:
        raise UnsupportedFeature(
            f"the tensors need up to {needed:g} bits of {outer.name}, which has {outer.size:g}",
            instead="search without fusion",
        )
    seconds = [pair[1] for pair in found if pair[1]]
    if not seconds:
        return Room(outer.name, None, inf)
    inner = _one(seconds, "second memory")  # a compute right below the outermost one uses none
    needed = sum(_whole_bits(einsum, inner) for einsum, _ in runs)
    capacity = inf if needed <= inner.size else inner.size
    return Room(outer.name, inner.name, capacity)


def _one(memories: Sequence[Memory], what: str) -> Memory:
    """Return the one memory that all Einsums see."""
    if len({(m.name, m.size) for m in memories}) != 1:
        listed = ", ".join(sorted({f"{m.name} of {m.size:g} bits" for m in memories}))
        raise UnsupportedFeature(
            f"the Einsums see different memories as the {what}: {listed}",
            instead="search without fusion",
        )
    return memories[0]


def _whole_bits(einsum: Einsum, memory: Memory) -> float:
    """Return the bits of all tensors of an Einsum, whole."""
    total = 0.0
    for access in einsum.accesses:
        width = memory.bits_per_value.get(access.tensor, access.bits_per_value)
        times = einsum.n_instances if access.persistent else 1
        total += float(access.tile_size(einsum.bounds) * width * times)
    return total
