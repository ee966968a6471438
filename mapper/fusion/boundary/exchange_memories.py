"""Describe the memories of a fused search: the outermost one and those that Einsums exchange in.

A capacity counts only where it may be exceeded: a memory in which whole tiles of all Einsums fit
together has capacity inf. Example: matrix multiplications Y = A B and Z = Y C hold tiles of 8, 4, 8
and 8, 4, 8 values of one bit. A buffer of 40 bits holds all of them, so no sum of bits is kept in
the search; a buffer of 39 bits counts (theory/fusion.md §1.1, §4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from tilewright.arch.components.components import Memory
from tilewright.mapper.fusion.boundary.exchange_options import memories_of_tensors
from tilewright.mapper.fusion.boundary.exchanged_tensors import EinsumPath
from tilewright.mapper.fusion.pmappings.fused_templates import first_two_memories
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import UnsupportedFeature

_INSTEAD = "search without fusion"


@dataclass(frozen=True, slots=True)
class OutermostCapacity:
    """Describe an outermost memory that may be too small for all tensors of the workload.

    `size`: its capacity in bits. `tensor_bits[T]`: bits of tensor T, whole, in that memory; of a
    persistent tensor for all instances of its Einsum. `persistent`: tensors that stay in it during
    the whole run.
    """

    size: float
    tensor_bits: Mapping[str, float]
    persistent: frozenset[str]

    def fits(self, tensors: frozenset[str]) -> bool:
        """Tell whether these tensors fit in the memory at the same time, whole.

        The persistent tensors of the workload count too, whether they are listed or not.
        """
        return sum(self.tensor_bits[t] for t in sorted(tensors | self.persistent)) <= self.size


@dataclass(frozen=True, slots=True)
class ExchangeMemories:
    """Name the memories of a fused search, with the capacities that the search must check.

    An exchanged tensor is one that several Einsums use and that may stay on chip between them.
    `outermost`: the memory that holds every other tensor. `second`: the first memory below it, in
    which exchanged tensors may stay (None: there is none). `second_bits`: its capacity in bits, or
    inf if all tensors of the workload fit there together, so that it need not be checked.
    `outermost_capacity`: what must be checked of the outermost memory; None if everything fits
    there. `deeper`: (name, bits) of the memories below the second one in which tensors may stay,
    bits again inf where nothing can fail. `memories_of[T]`: the memories on chip in which tensor T
    may stay, if not all of them.
    """

    outermost: str
    second: str | None
    second_bits: float
    outermost_capacity: OutermostCapacity | None = None
    deeper: tuple[tuple[str, float], ...] = ()
    memories_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def memories(self) -> tuple[str, ...]:
        """Names of the memories in which exchanged tensors may stay, outermost first.

        The first name is "" if there is no second memory.
        """
        return (self.second or "", *(name for name, _ in self.deeper))

    @property
    def capacities(self) -> tuple[float, ...]:
        """Capacities in bits, in the order of `memories`.

        inf for a memory in which whole tiles of all tensors of all Einsums fit together, so that it
        need not be checked.
        """
        return (self.second_bits, *(bits for _, bits in self.deeper))

    @property
    def maybe_full(self) -> tuple[str, ...]:
        """Names, among the outermost and the second memory, of those to name when nothing fits.

        The second memory is always named if there is one, the outermost one only if it may be too
        small or is the only one.
        """
        small = self.outermost_capacity is not None or self.second is None
        outermost = (self.outermost,) if small else ()
        return (*outermost, self.second) if self.second else outermost

    @property
    def crowded(self) -> frozenset[str]:
        """Names of those of `memories` that may be too small for several Einsums together.

        One Einsum alone may fit there, and yet not beside the tiles that other Einsums keep there.
        """
        pairs = zip(self.memories, self.capacities, strict=True)
        return frozenset(name for name, bits in pairs if name and bits < inf)


class _MemoryOfEinsum(NamedTuple):
    """An Einsum with a memory as it sees it: the size in bits may depend on the Einsum."""

    einsum: Einsum
    memory: Memory


def exchange_memories(paths: Sequence[EinsumPath], deeper: bool = False) -> ExchangeMemories:
    """Find the memories in which the Einsums of a workload may exchange tensors.

    `paths`: each Einsum with the components from the root of the architecture to its compute, one
    entry per compute. `deeper`: tensors may also stay in memories below the second one. Raises
    UnsupportedFeature if a path has no memory, if Einsums see different memories (name or size) as
    the first or the second one, or if the outermost memory may be too small while tensors are
    copied or have several sizes there.
    """
    pairs = [(einsum, *first_two_memories(flat)) for einsum, flat in paths]
    outermost = _same_memory([memory for _, memory, _ in pairs], "outermost memory")
    limit = _outermost_capacity([_MemoryOfEinsum(e, memory) for e, memory, _ in pairs])
    seconds = [memory for _, _, memory in pairs if memory]  # a compute may use only one memory
    if not seconds:
        return ExchangeMemories(outermost.name, None, inf, limit)
    second = _same_memory(seconds, "second memory")
    memories_of = memories_of_tensors(paths, deeper)
    further = _third_and_deeper(paths[0], memories_of.values())
    return ExchangeMemories(
        outermost.name,
        second.name,
        _capacity(paths, second.name),
        limit,
        tuple((name, _capacity(paths, name)) for name in further),
        {tensor: names or (second.name, *further) for tensor, names in memories_of.items()},
    )


def _third_and_deeper(path: EinsumPath, chosen: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the names of a path's memories from the third one down to the deepest one needed.

    `chosen`: per tensor, the memories that it may stay in, outermost first. The deepest one that is
    needed is the deepest among their last entries. Empty if that is the second memory or above.
    """
    names = [c.name for c in path.flat.components if isinstance(c, Memory)]
    deepest = {memories[-1] for memories in chosen if memories}
    return names[2 : max((names.index(name) + 1 for name in deepest), default=2)]


def _capacity(paths: Sequence[EinsumPath], name: str) -> float:
    """Return the size of the memory `name` in bits.

    Inf if whole tiles of all tensors fit together.
    """
    seen = [
        _MemoryOfEinsum(einsum, component)
        for einsum, flat in paths
        for component in flat.components
        if component.name == name and isinstance(component, Memory)
    ]
    size = seen[0].memory.size
    return inf if _bits_of_all_tensors(seen) <= size else size


def _bits_of_all_tensors(seen: Sequence[_MemoryOfEinsum]) -> float:
    """Return the bits that a memory needs if every Einsum holds each of its tensors whole, apart.

    A tensor of two Einsums counts twice, both times with the most bits per value that any Einsum
    sees in the memory; a persistent tensor counts for all instances of the Einsum.
    """
    values: dict[str, list[float]] = {}
    widest: dict[str, float] = {}
    for einsum, memory in seen:
        for access in einsum.accesses:
            width = float(memory.bits_per_value.get(access.tensor, access.bits_per_value))
            times = einsum.n_instances if access.persistent else 1
            values.setdefault(access.tensor, []).append(access.tile_size(einsum.bounds) * times)
            widest[access.tensor] = max(width, widest.get(access.tensor, 0.0))
    return sum(sum(sizes) * widest[tensor] for tensor, sizes in values.items())


def _outermost_capacity(seen: Sequence[_MemoryOfEinsum]) -> OutermostCapacity | None:
    """Return what must be checked of the outermost memory; None if all whole tensors fit in it.

    Raises UnsupportedFeature if they do not fit, and a tensor is copied or has several sizes there.
    """
    sizes = _whole_tensor_sizes(seen)
    largest = {tensor: max(several) for tensor, several in sizes.items()}
    memory, needed = seen[0].memory, sum(largest.values())
    if needed <= memory.size:
        return None
    unclear = {tensor for tensor, several in sizes.items() if len(several) > 1}
    _refuse_small_outermost(seen, memory, needed, unclear)
    accesses = (access for einsum, _ in seen for access in einsum.accesses)
    persistent = frozenset(access.tensor for access in accesses if access.persistent)
    return OutermostCapacity(memory.size, largest, persistent)


def _whole_tensor_sizes(seen: Sequence[_MemoryOfEinsum]) -> dict[str, set[float]]:
    """Return, per tensor, the set of sizes in bits that Einsums see of the whole tensor."""
    sizes: dict[str, set[float]] = {}
    for einsum, memory in seen:
        for tensor, bits in _whole_tensor_bits(einsum, memory).items():
            sizes.setdefault(tensor, set()).add(bits)
    return sizes


def _refuse_small_outermost(
    seen: Sequence[_MemoryOfEinsum], memory: Memory, needed: float, unclear: set[str]
) -> None:
    """Raise UnsupportedFeature if the outermost memory is small and some tensors' bits are unclear.

    `needed`: bits of all whole tensors. `unclear`: tensors with several sizes. Tensors of copy
    Einsums are unclear too. Without any, nothing is raised.
    """
    copied = {t for einsum, _ in seen if einsum.is_copy for t in einsum.tensors}
    if not unclear and not copied:
        return
    why = "copied" if copied else "of different sizes to Einsums"
    raise UnsupportedFeature(
        f"the tensors need up to {needed:g} bits of {memory.name}, which has {memory.size:g}, and"
        f" {', '.join(sorted(unclear | copied))} are {why}",
        instead=_INSTEAD,
    )


def _same_memory(memories: Sequence[Memory], role: str) -> Memory:
    """Return the memory that all Einsums see in one role, such as "outermost memory".

    Raises UnsupportedFeature if names or sizes differ.
    """
    if len({(m.name, m.size) for m in memories}) != 1:
        listed = ", ".join(sorted({f"{m.name} of {m.size:g} bits" for m in memories}))
        raise UnsupportedFeature(
            f"the Einsums see different memories as the {role}: {listed}", instead=_INSTEAD
        )
    return memories[0]


def _whole_tensor_bits(einsum: Einsum, memory: Memory) -> dict[str, float]:
    """Return the bits of each whole tensor of an Einsum in a memory.

    A persistent one: all instances.
    """
    bits: dict[str, float] = {}
    for access in einsum.accesses:
        width = memory.bits_per_value.get(access.tensor, access.bits_per_value)
        times = einsum.n_instances if access.persistent else 1
        bits[access.tensor] = float(access.tile_size(einsum.bounds) * width * times)
    return bits
