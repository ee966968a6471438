"""The memories that a cascade uses: the outermost one, and the one that tensors may stay in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchange_options import memories_of_tensors
from tilewright.mapper.fusion.pmappings.fused_templates import first_two_memories
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, slots=True)
class OutermostCapacity:
    """The outermost memory where it may be too small: its `size`, the `bits` of each tensor, whole,
    and tensors that are there `always`."""

    size: float
    tensor_bits: Mapping[str, float]
    persistent: frozenset[str]

    def fits(self, tensors: frozenset[str]) -> bool:
        """Tell whether there is room for some tensors at a time."""
        return (
            sum(self.tensor_bits[tensor] for tensor in sorted(tensors | self.persistent))
            <= self.size
        )


@dataclass(frozen=True, slots=True)
class ExchangeMemories:
    """`outer`: the memory of everything; `inner`: the one that exchanged tensors may stay in (None:
    there is none); `capacity`: its bits, inf when all tensors fit into it together; `limit`: the
    room of `outer`, None when everything fits there; `deeper`: further memories that exchanged
    tensors may stay in, from the third one on, with their bits; `places`: in which of them all each
    tensor may stay.
    """

    outermost: str
    second: str | None
    second_bits: float
    outermost_capacity: OutermostCapacity | None = None
    deeper: tuple[tuple[str, float], ...] = ()
    memories_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def memories(self) -> tuple[str, ...]:
        """The memories that tensors may stay in, outermost first."""
        return (self.second or "", *(name for name, _ in self.deeper))

    @property
    def capacities(self) -> tuple[float, ...]:
        """Their bits; inf when all tensors fit together."""
        return (self.second_bits, *(bits for _, bits in self.deeper))

    @property
    def maybe_full(self) -> tuple[str, ...]:
        """The memories of these two that may be too small; the lower one if neither is known to."""
        outer = (
            (self.outermost,) if self.outermost_capacity is not None or self.second is None else ()
        )
        return (*outer, self.second) if self.second else outer

    @property
    def crowded(self) -> frozenset[str]:
        """Those of them in which what other Einsums leave there may be too much."""
        pairs = zip(self.memories, self.capacities, strict=True)
        return frozenset(name for name, bits in pairs if name and bits < inf)


def exchange_memories(
    runs: Sequence[tuple[Einsum, FlatArch]], deeper: bool = False
) -> ExchangeMemories:
    """Check the memories that the Einsums see on the ways to their computes.

    `deeper`: tensors may stay in memories below the second one, too. UnsupportedFeature if the
    outer ones differ.
    """
    found = [first_two_memories(flat) for _, flat in runs]
    outer = _same_memory([pair[0] for pair in found], "outermost memory")
    limit = _outermost_capacity([(e, pair[0]) for (e, _), pair in zip(runs, found, strict=True)])
    seconds = [(e, pair[1]) for (e, _), pair in zip(runs, found, strict=True) if pair[1]]
    if not seconds:
        return ExchangeMemories(outer.name, None, inf, limit)
    # a compute right below the outermost memory uses none
    inner = _same_memory([memory for _, memory in seconds], "second memory")
    places = memories_of_tensors(runs, deeper)
    last = {several[-1] for several in places.values() if several}
    names = [component.name for component in runs[0][1].components if isinstance(component, Memory)]
    further = names[2 : max((names.index(name) + 1 for name in last), default=2)]
    pairs = tuple((name, _capacity(runs, name)) for name in further)
    places = {tensor: several or (inner.name, *further) for tensor, several in places.items()}
    return ExchangeMemories(
        outer.name, inner.name, _capacity(runs, inner.name), limit, pairs, places
    )


def _capacity(runs: Sequence[tuple[Einsum, FlatArch]], name: str) -> float:
    """Return the bits of a memory; inf if all tensors fit together."""
    ways = ((einsum, c) for einsum, flat in runs for c in flat.components if c.name == name)
    seen = [(einsum, memory) for einsum, memory in ways if isinstance(memory, Memory)]
    size = seen[0][1].size
    return inf if _bits_of_all_tensors(seen) <= size else size


def _bits_of_all_tensors(runs: Sequence[tuple[Einsum, Memory]]) -> float:
    """Return the bits of what all Einsums hold, whole: of each tensor a tile per Einsum, in the
    width of the one that sees the widest values."""
    seen: dict[str, list[float]] = {}
    widest: dict[str, float] = {}
    for einsum, memory in runs:
        for access in einsum.accesses:
            width = float(memory.bits_per_value.get(access.tensor, access.bits_per_value))
            times = einsum.n_instances if access.persistent else 1
            seen.setdefault(access.tensor, []).append(access.tile_size(einsum.bounds) * times)
            widest[access.tensor] = max(width, widest.get(access.tensor, 0.0))
    return sum(sum(values) * widest[tensor] for tensor, values in seen.items())


def _outermost_capacity(runs: Sequence[tuple[Einsum, Memory]]) -> OutermostCapacity | None:
    """Return the room of the outermost memory, as each Einsum sees it, if it may be too little.

    UnsupportedFeature where it may be, and Einsums see a tensor there in different sizes or copy.
    """
    seen: dict[str, set[float]] = {}
    for einsum, memory in runs:
        for tensor, bits in _whole_tensor_bits(einsum, memory).items():
            seen.setdefault(tensor, set()).add(bits)
    size = runs[0][1].size
    needed = sum(max(several) for several in seen.values())
    if needed <= size:
        return None
    unclear = [tensor for tensor, several in seen.items() if len(several) > 1]
    copied = [t for einsum, _ in runs if einsum.is_copy for t in einsum.tensors]
    if unclear or copied:
        why = "copied" if copied else "of different sizes to Einsums"
        raise UnsupportedFeature(
            f"the tensors need up to {needed:g} bits of {runs[0][1].name}, which has {size:g}, and"
            f" {', '.join(sorted({*unclear, *copied}))} are {why}",
            instead="search without fusion",
        )
    accesses = (access for einsum, _ in runs for access in einsum.accesses)
    always = frozenset(access.tensor for access in accesses if access.persistent)
    return OutermostCapacity(size, {t: max(several) for t, several in seen.items()}, always)


def _same_memory(memories: Sequence[Memory], what: str) -> Memory:
    """Return the one memory that all Einsums see."""
    if len({(m.name, m.size) for m in memories}) != 1:
        listed = ", ".join(sorted({f"{m.name} of {m.size:g} bits" for m in memories}))
        raise UnsupportedFeature(
            f"the Einsums see different memories as the {what}: {listed}",
            instead="search without fusion",
        )
    return memories[0]


def _whole_tensor_bits(einsum: Einsum, memory: Memory) -> dict[str, float]:
    """Return the bits of each tensor of an Einsum, whole."""
    found: dict[str, float] = {}
    for access in einsum.accesses:
        width = memory.bits_per_value.get(access.tensor, access.bits_per_value)
        times = einsum.n_instances if access.persistent else 1
        found[access.tensor] = float(access.tile_size(einsum.bounds) * width * times)
    return found
