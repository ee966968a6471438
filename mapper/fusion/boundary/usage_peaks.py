"""Memories whose usage counts: the most bits that live in each at a time, over the whole workload.

Of the memories that tensors are exchanged in it is what joining the Einsums counts anyway
(label_pass.py). Others below the outermost one are an Einsum's own. In the outermost one tensors
stand whole, from the first Einsum that uses them to the last; and while Einsums run that share
loops with one of these, since nothing above a shared loop is forgotten before it ends. Which of its
tensors a copy keeps there depends on its mapping.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors
from tilewright.mapper.fusion.boundary.tensor_views import (
    Run,
    refuse_bounded_widths,
    refuse_copied_widths,
    refuse_unclear_tiles,
    widths_of,
)
from tilewright.mapper.fusion.pmappings.fused_templates import first_two_memories
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.workload.workload import Workload

OnChip = tuple[tuple[int, ...], float]  # numbers of the places of one tensor, bits


@dataclass(frozen=True, slots=True)
class OutermostTensors:
    """Whole tensors in the outermost memory while one Einsum runs, in bits; a copy's, and what no
    other Einsum uses, apart.

    `fresh`: used for the first time; `kept`: left there for this Einsum or later; `wider`: how
    much more of what is left there this one's width of its values makes.
    `fresh_chip`, `kept_chip`, `wider_chip`: those that may be on chip instead, by their places
    among the boundary tensors of the Einsum, and among what is live before it.
    """

    new_bits: float
    kept_bits: float
    widening_bits: float
    new_exchanged: tuple[OnChip, ...]
    kept_exchanged: tuple[OnChip, ...]
    widening_exchanged: tuple[OnChip, ...]

    def bits(self, depths: Sequence[int], before: Sequence[int]) -> tuple[float, float, float]:
        """Return the bits of all three, given where tensors are: -1 if not on chip."""
        fresh = _bits_off_chip(self.new_exchanged, depths)
        kept, wider = (
            _bits_off_chip(some, before) for some in (self.kept_exchanged, self.widening_exchanged)
        )
        return self.new_bits + fresh, self.kept_bits + kept, self.widening_bits + wider


def _bits_off_chip(some: Iterable[OnChip], depths: Sequence[int]) -> float:
    """Return the bits of those tensors that are in none of their places on chip."""
    return sum(bits for places, bits in some if all(depths[place] < 0 for place in places))


@dataclass(frozen=True, slots=True)
class CountedUsage:
    """The memories: those that Einsums exchange tensors in (`inner`), others below the outermost
    one (`deep`), and that (`outer`); empty where it does not count. `tenants`: of that, per Einsum.
    """

    private: tuple[str, ...] = ()
    exchange: tuple[str, ...] = ()
    outermost: str = ""
    outermost_tensors: tuple[OutermostTensors, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of their numbers in labels."""
        return (*self.private, *self.exchange, *filter(None, (self.outermost,)))

    @property
    def pmapping_memories(self) -> tuple[str, ...]:
        """Those of which a mapping of one Einsum says what it uses itself: of the outermost what no
        other one uses, a copy all."""
        return (*self.private, self.outermost) if self.outermost else self.private

    @property
    def zeros(self) -> tuple[float, ...]:
        """Nothing used: a bound of every usage."""
        return (0.0,) * len(self.names)

    def usages_of(self, score: Score) -> tuple[float, ...]:
        """Return the usages of a score."""
        return tuple(float(score.capacity.get(name, 0)) for name in self.names)


NO_USAGE = CountedUsage()


def counted_usage(
    runs: Sequence[Run],
    memories: Iterable[str],
    room: ExchangeMemories,
    boundaries: ExchangedTensors,
) -> CountedUsage:
    """Prepare to count how much of `memories` is used.

    UnsupportedFeature where they are spread over an Array, or a tensor changes its size.
    """
    asked = frozenset(memories)
    if not asked:
        return NO_USAGE
    _refuse_array_memories(runs, asked)
    inner = tuple(name for name in room.memories if name in asked)
    for name in inner:
        refuse_unclear_tiles(runs, name, boundaries)
        refuse_bounded_widths(runs, name, boundaries)
    for name in (n for n in (room.outermost, room.second) if n in asked):
        # by default what a copy writes on chip is there from then on
        sure = (
            _written_by_copies(boundaries)
            if name in inner and boundaries.shares_tiles
            else frozenset()
        )
        refuse_copied_widths(runs, str(name), boundaries)
        refuse_distant_copies(str(name), boundaries.workload, sure)
    seen = dict.fromkeys(c.name for _, flat in runs for c in flat.components)
    deep = tuple(name for name in seen if name in asked - {room.outermost, *inner})
    if room.outermost not in asked:
        return CountedUsage(deep, inner)
    return CountedUsage(deep, inner, room.outermost, _outermost_tensors(runs, boundaries))


def _refuse_array_memories(runs: Sequence[Run], asked: frozenset[str]) -> None:
    for component in (c for _, flat in runs for c in flat.components):
        if component.name in asked and component.physical_fanout > 1:
            raise UnsupportedFeature(
                f"the usage of {component.name} is not counted: it is spread over an Array",
                instead="leave that usage out",
            )


def _written_by_copies(boundaries: ExchangedTensors) -> frozenset[str]:
    copies = [einsum for einsum in boundaries.workload.einsums if einsum.is_copy]
    return frozenset(access.tensor for einsum in copies for access in einsum.outputs)


def refuse_distant_copies(
    memory: str, workload: Workload, sure: frozenset[str] = frozenset()
) -> None:
    """Raise UnsupportedFeature for a copy with others between it and the users of its tensors: its
    mapping decides whether they are in `memory` by then, but for those that are `sure` to be."""
    for number, einsum in enumerate(workload.einsums):
        accesses = [access for access in einsum.accesses if access.tensor not in sure]
        for access in accesses if einsum.is_copy else ():
            users = (i for i, e in enumerate(workload.einsums) if access.tensor in e.tensors)
            others = [user for user in users if user != number]
            before, after = [i for i in others if i < number], [i for i in others if i > number]
            near = max(before, default=number - 1), min(after, default=number + 1)
            if near != (number - 1, number + 1) or (before and after) or access.persistent:
                raise UnsupportedFeature(
                    f"the usage of {memory} is not counted: {einsum.name}, a copy, does not stand"
                    f" right beside the other Einsums that use {access.tensor}",
                    instead="leave that usage out, or move the copy",
                )


def _outermost_tensors(
    runs: Sequence[Run], boundaries: ExchangedTensors
) -> tuple[OutermostTensors, ...]:
    workload = boundaries.workload
    whole = {t: _whole_tensor_bits(runs, t) for t in workload.tensors}
    always = {a.tensor for einsum in workload.einsums for a in einsum.accesses if a.persistent}
    span = {t: (users[0], users[-1]) for t, users in boundaries.users.items()}
    found: list[OutermostTensors] = []
    live: tuple[str, ...] = ()
    for number, einsum in enumerate(workload.einsums):
        bits = {t: sizes[max(number, span[t][0])] for t, sizes in whole.items()}
        until = {t: sizes[max(number - 1, span[t][0])] for t, sizes in whole.items()}
        own = [place.tensor for place in boundaries.places_of_einsum(einsum)]
        # of these a mapping says itself whether they are there
        hidden = {t for t in einsum.tensors if einsum.is_copy or len(boundaries.users[t]) == 1}
        seen = [t for t in workload.tensors if t not in always and t not in hidden]
        begun = [t for t in seen if span[t][0] == number]
        stays = [*always, *(t for t in seen if span[t][0] < number <= span[t][1])]
        more = {t: bits[t] - until[t] for t in stays}
        found.append(
            OutermostTensors(
                sum(bits[t] for t in begun if t not in own),
                sum(bits[t] for t in stays if t not in live),
                sum(more[t] for t in stays if t not in live),
                tuple((_positions(own, t), bits[t]) for t in begun if t in own),
                tuple((_positions(live, t), bits[t]) for t in stays if t in live),
                tuple((_positions(live, t), more[t]) for t in stays if t in live),
            )
        )
        live = tuple(place.tensor for place in boundaries.live_after(number))
    return tuple(found)


def _positions(tensors: Sequence[str], tensor: str) -> tuple[int, ...]:
    return tuple(place for place, other in enumerate(tensors) if other == tensor)


def _whole_tensor_bits(runs: Sequence[Run], tensor: str) -> dict[int, float]:
    """Return the bits of a whole tensor in the outermost memory while each Einsum runs, from the
    first one that uses it: in the width of the last one to do so."""
    memory = first_two_memories(runs[0][1])[0].name
    widths = widths_of(runs, memory, tensor)
    names = list(dict.fromkeys(einsum.name for einsum, _ in runs))
    values = [
        einsum.access(tensor).tile_size(einsum.bounds)
        * (einsum.n_instances if einsum.access(tensor).persistent else 1)
        for einsum, _ in runs
        if tensor in einsum.tensors
    ]
    found: dict[int, float] = {}
    width = 0.0
    for number, name in enumerate(names):
        if name in widths or found:
            width = widths.get(name, width)
            found[number] = width * max(values)
    return found
