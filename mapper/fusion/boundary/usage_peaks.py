"""Prepare to count the usage of memories: the most bits in each at a time, over the workload.

Joining the Einsums counts the usage of the memories that tensors are exchanged in anyway
(join_pmappings.py). Other memories below the outermost one are private to one Einsum at a time.
In the outermost memory a tensor stands whole, from the first Einsum that uses it to the last.
It also stays while Einsums run that share loops with one of these, because nothing above a shared
loop is freed before the loop ends. The mapping of a copy decides which of its tensors are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories
from tilewright.mapper.fusion.boundary.exchanged_tensors import EinsumPath, ExchangedTensors
from tilewright.mapper.fusion.boundary.tensor_views import (
    refuse_bounded_widths,
    refuse_copied_widths,
    refuse_unclear_tiles,
    widths_of,
)
from tilewright.mapper.fusion.pmappings.fused_templates import first_two_memories
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.errors import UnsupportedFeature
from tilewright.mapper.workload.workload import Workload


class ExchangedBits(NamedTuple):
    """Give the bits that a tensor takes in the outermost memory unless it is on chip.

    `positions`: the tensor's entries in a list of (tensor, memory on chip) pairs. The bits count if
    it stays in none of these memories. `bits`: of the whole tensor, or by how many they grow.
    """

    positions: tuple[int, ...]
    bits: float


class OutermostBits(NamedTuple):
    """Give the bits in the outermost memory while one Einsum runs.

    `new`: of tensors that it is the first to use. `from_before`: of tensors that earlier Einsums
    used and that are still there. `widening`: by how much `from_before` is more than while the
    Einsum before ran, because this one sees other bits per value.
    """

    new: float
    from_before: float
    widening: float


@dataclass(frozen=True, slots=True)
class OutermostTensors:
    """Hold the bits of whole tensors in the outermost memory while one Einsum runs.

    Tensors are new (this Einsum is the first to use them) or kept (an earlier one was); widening is
    the change of a kept tensor's bits because this Einsum sees another width. `new_bits`,
    `kept_bits`, `widening_bits`: sums over tensors that cannot be on chip. `new_exchanged`: tensors
    that may be, by positions among the places of this Einsum's tensors on chip. `kept_exchanged`,
    `widening_exchanged`: by positions among the places that may be on chip before it. Tensors of a
    copy Einsum and tensors that no other Einsum uses are counted by the mappings of their Einsum
    instead.
    """

    new_bits: float
    kept_bits: float
    widening_bits: float
    new_exchanged: tuple[ExchangedBits, ...]
    kept_exchanged: tuple[ExchangedBits, ...]
    widening_exchanged: tuple[ExchangedBits, ...]

    def bits(self, depths: Sequence[int], live_depths: Sequence[int]) -> OutermostBits:
        """Return the bits in the outermost memory while the Einsum runs, by what is on chip.

        `depths`: number of loops above each (tensor, memory) pair in which this Einsum's tensors
        may stay on chip, -1 if the tensor is not there. `live_depths`: the same for the pairs that
        may be on chip before it. Only whether a number is below 0 matters.
        """
        return OutermostBits(
            self.new_bits + _bits_off_chip(self.new_exchanged, depths),
            self.kept_bits + _bits_off_chip(self.kept_exchanged, live_depths),
            self.widening_bits + _bits_off_chip(self.widening_exchanged, live_depths),
        )


def _bits_off_chip(tensors: Iterable[ExchangedBits], depths: Sequence[int]) -> float:
    """Return the sum of the bits of those tensors that stay in no memory on chip.

    `depths`: loops above each (tensor, memory) pair, -1 where the tensor is not there.
    """
    return sum(t.bits for t in tensors if all(depths[position] < 0 for position in t.positions))


@dataclass(frozen=True, slots=True)
class CountedUsage:
    """Name the memories whose usage the search counts because an objective depends on it.

    The usage of a memory is the most bits in it at a time, over the whole workload. `private`:
    memories below the outermost one in which Einsums exchange nothing, so that one Einsum at a time
    uses them. `exchange`: memories in which Einsums exchange tensors. `outermost`: the outermost
    memory, "" if it does not count. `outermost_tensors`: what it holds while each Einsum runs, one
    entry per Einsum.
    """

    private: tuple[str, ...] = ()
    exchange: tuple[str, ...] = ()
    outermost: str = ""
    outermost_tensors: tuple[OutermostTensors, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all counted memories, in the order in which the search lists their usages."""
        return (*self.private, *self.exchange, *filter(None, (self.outermost,)))

    @property
    def pmapping_memories(self) -> tuple[str, ...]:
        """Names of the memories of which the mapping of one Einsum alone says what it uses.

        These are the private ones, and the outermost one: there a mapping says what tensors take
        that no other Einsum uses (a copy Einsum: what all its tensors take).
        """
        return (*self.private, self.outermost) if self.outermost else self.private

    @property
    def zeros(self) -> tuple[float, ...]:
        """Lower bound of the usage of each memory of `names`: 0 bits."""
        return (0.0,) * len(self.names)

    def usages_of(self, score: Score) -> tuple[float, ...]:
        """Return the usages of a scored mapping in bits, in the order of `names`.

        0 for a memory that the mapping does not use.
        """
        return tuple(float(score.capacity.get(name, 0)) for name in self.names)


NO_USAGE = CountedUsage()


def counted_usage(
    paths: Sequence[EinsumPath],
    names: Iterable[str],
    memories: ExchangeMemories,
    exchanged: ExchangedTensors,
) -> CountedUsage:
    """Prepare to count the most bits at a time in some memories, over the whole workload.

    `paths`: each Einsum with the components to one of its computes. `names`: of the memories;
    empty: nothing is counted. `memories`, `exchanged`: in which memories Einsums exchange which
    tensors. Raises UnsupportedFeature where the usage could not be exact: a memory is spread over
    an Array; a contested tensor there has several widths or windows that only bound it; a tensor of
    a copy Einsum has several widths, or the copy is not right beside the other users of that
    tensor.
    """
    counted = frozenset(names)
    if not counted:
        return NO_USAGE
    _refuse_array_memories(paths, counted)
    exchange = tuple(name for name in memories.memories if name in counted)
    for name in exchange:
        refuse_unclear_tiles(paths, name, exchanged)
        refuse_bounded_widths(paths, name, exchanged)
    for memory in (memories.outermost, memories.second):
        if memory in counted:
            _refuse_unclear_copies(paths, str(memory), exchanged, in_exchange=memory in exchange)
    private = _components_among(paths, counted - {memories.outermost, *exchange})
    if memories.outermost not in counted:
        return CountedUsage(private, exchange)
    tensors = _OutermostCounter(paths, exchanged).per_einsum()
    return CountedUsage(private, exchange, memories.outermost, tensors)


def _components_among(paths: Sequence[EinsumPath], names: frozenset[str]) -> tuple[str, ...]:
    """Return the components that are named and on some path, in the order of the paths."""
    components = dict.fromkeys(c.name for _, flat in paths for c in flat.components)
    return tuple(name for name in components if name in names)


def _refuse_unclear_copies(
    paths: Sequence[EinsumPath], memory: str, exchanged: ExchangedTensors, in_exchange: bool
) -> None:
    """Raise UnsupportedFeature where the usage of a memory depends on which mapping a copy has.

    `in_exchange`: Einsums exchange tensors in the memory. If they also share tiles there, what a
    copy writes on chip is certain to be there, and is not checked.
    """
    is_certain = in_exchange and exchanged.shares_tiles
    certain = _written_by_copies(exchanged) if is_certain else frozenset[str]()
    refuse_copied_widths(paths, memory, exchanged)
    refuse_distant_copies(memory, exchanged.workload, certain)


def _refuse_array_memories(paths: Sequence[EinsumPath], counted: frozenset[str]) -> None:
    for component in (c for _, flat in paths for c in flat.components):
        if component.name in counted and component.physical_fanout > 1:
            raise UnsupportedFeature(
                f"the usage of {component.name} is not counted: it is spread over an Array",
                instead="leave that usage out",
            )


def _written_by_copies(exchanged: ExchangedTensors) -> frozenset[str]:
    copies = [einsum for einsum in exchanged.workload.einsums if einsum.is_copy]
    return frozenset(access.tensor for einsum in copies for access in einsum.outputs)


def refuse_distant_copies(
    memory: str, workload: Workload, certain: frozenset[str] = frozenset()
) -> None:
    """Raise UnsupportedFeature if a copy Einsum is not right beside the other users of its tensors.

    The mapping of the copy decides whether these tensors are in `memory`, and with other Einsums in
    between they may be there for longer. All other users of a tensor must be on one side of the
    copy, the nearest of them its neighbour in the workload, and the tensor may not persist.
    `certain`: tensors that are in the memory in any case, and are not checked.
    """
    for number, einsum in enumerate(workload.einsums):
        for access in einsum.accesses if einsum.is_copy else ():
            if access.tensor in certain or _is_beside_users(workload, number, access):
                continue
            raise UnsupportedFeature(
                f"the usage of {memory} is not counted: {einsum.name}, a copy, does not stand"
                f" right beside the other Einsums that use {access.tensor}",
                instead="leave that usage out, or move the copy",
            )


def _is_beside_users(workload: Workload, number: int, access: TensorAccess) -> bool:
    """Tell whether all other users of a copy's tensor are on one side of it, and adjacent.

    `number`: of the copy Einsum; `access`: the tensor.
    """
    users = [i for i, e in enumerate(workload.einsums) if access.tensor in e.tensors]
    earlier, later = [i for i in users if i < number], [i for i in users if i > number]
    previous, following = max(earlier, default=number - 1), min(later, default=number + 1)
    adjacent = (previous, following) == (number - 1, number + 1)
    return adjacent and not (earlier and later) and not access.persistent


class _OutermostCounter:
    """Find the bits of whole tensors in the outermost memory while each Einsum runs.

    `paths`: each Einsum with the components to one of its computes. `exchanged`: which tensors may
    stay on chip instead.
    """

    def __init__(self, paths: Sequence[EinsumPath], exchanged: ExchangedTensors) -> None:
        self._exchanged = exchanged
        self._einsums = exchanged.workload.einsums
        self._bits = {t: _whole_tensor_bits(paths, t) for t in exchanged.workload.tensors}
        self._first = {t: users[0] for t, users in exchanged.users.items()}
        self._last = {t: users[-1] for t, users in exchanged.users.items()}
        self._persistent = {a.tensor for e in self._einsums for a in e.accesses if a.persistent}

    def per_einsum(self) -> tuple[OutermostTensors, ...]:
        """Return, for each Einsum in order, the tensors in the outermost memory while it runs."""
        counts: list[OutermostTensors] = []
        live: tuple[str, ...] = ()
        for number in range(len(self._einsums)):
            counts.append(self._tensors_of(number, live))
            live = tuple(place.tensor for place in self._exchanged.live_after(number))
        return tuple(counts)

    def _tensors_of(self, number: int, live: tuple[str, ...]) -> OutermostTensors:
        """Return the tensors in the outermost memory while Einsum `number` runs.

        `live`: for each (tensor, memory) pair that may be on chip before it, the tensor.
        """
        places = self._exchanged.places_of_einsum(self._einsums[number])
        boundary = [place.tensor for place in places]
        counted = self._counted(self._einsums[number])
        new = [t for t in counted if self._first[t] == number]
        from_earlier = [*self._persistent]
        from_earlier += [t for t in counted if self._first[t] < number <= self._last[t]]
        bits = {t: sizes[max(number, self._first[t])] for t, sizes in self._bits.items()}
        bits_before = {t: sizes[max(number - 1, self._first[t])] for t, sizes in self._bits.items()}
        widening = {t: bits[t] - bits_before[t] for t in from_earlier}
        return OutermostTensors(
            _bits_outside(new, boundary, bits),
            _bits_outside(from_earlier, live, bits),
            _bits_outside(from_earlier, live, widening),
            _bits_inside(new, boundary, bits),
            _bits_inside(from_earlier, live, bits),
            _bits_inside(from_earlier, live, widening),
        )

    def _counted(self, einsum: Einsum) -> list[str]:
        """Return the tensors that are counted here while `einsum` runs: those of several Einsums.

        Left out: persistent tensors, tensors that this Einsum alone uses, and all tensors of a copy
        Einsum. For the last two its own pmapping says whether they are there.
        """
        alone = {t for t in einsum.tensors if len(self._exchanged.users[t]) == 1}
        uncounted = self._persistent | (set(einsum.tensors) if einsum.is_copy else alone)
        return [t for t in self._exchanged.workload.tensors if t not in uncounted]


def _bits_outside(
    tensors: Sequence[str], listed: Sequence[str], bits: Mapping[str, float]
) -> float:
    """Return the sum of the bits of the `tensors` that are not in `listed`."""
    return sum(bits[tensor] for tensor in tensors if tensor not in listed)


def _bits_inside(
    tensors: Sequence[str], listed: Sequence[str], bits: Mapping[str, float]
) -> tuple[ExchangedBits, ...]:
    """Return the bits of the `tensors` that are in `listed`, with all their positions in it."""
    return tuple(
        ExchangedBits(tuple(i for i, name in enumerate(listed) if name == tensor), bits[tensor])
        for tensor in tensors
        if tensor in listed
    )


def _whole_tensor_bits(paths: Sequence[EinsumPath], tensor: str) -> dict[int, float]:
    """Return a whole tensor's bits in the outermost memory, by the number of the running Einsum.

    Entries begin with the first Einsum that uses the tensor. The width is that of the last user so
    far; the number of values is the most that any user has.
    """
    memory = first_two_memories(paths[0].flat)[0].name
    widths = widths_of(paths, memory, tensor)
    names = list(dict.fromkeys(einsum.name for einsum, _ in paths))
    values = [
        einsum.access(tensor).tile_size(einsum.bounds)
        * (einsum.n_instances if einsum.access(tensor).persistent else 1)
        for einsum, _ in paths
        if tensor in einsum.tensors
    ]
    bits: dict[int, float] = {}
    width = 0.0
    for number, name in enumerate(names):
        if name in widths or bits:
            width = widths.get(name, width)
            bits[number] = width * max(values)
    return bits
