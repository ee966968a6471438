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

from tilewright.mapper.fusion.boundary.exchange_memories import Room
from tilewright.mapper.fusion.boundary.exchanged_tensors import Boundaries
from tilewright.mapper.fusion.boundary.tensor_views import (
    Run,
    refuse_copied,
    refuse_unclear_tiles,
    refuse_unsettled,
    widths_of,
)
from tilewright.mapper.fusion.pmappings.fused_templates import memories_of
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.workload.workload import Workload

OnChip = tuple[tuple[int, ...], float]  # numbers of the places of one tensor, bits


@dataclass(frozen=True, slots=True)
class Tenants:
    """Whole tensors in the outermost memory while one Einsum runs, in bits; a copy's, and what no
    other Einsum uses, apart.

    `fresh`: used for the first time; `kept`: left there for this Einsum or later; `wider`: how
    much more of what is left there this one's width of its values makes.
    `fresh_chip`, `kept_chip`, `wider_chip`: those that may be on chip instead, by their places
    among the boundary tensors of the Einsum, and among what is live before it.
    """

    fresh: float
    kept: float
    wider: float
    fresh_chip: tuple[OnChip, ...]
    kept_chip: tuple[OnChip, ...]
    wider_chip: tuple[OnChip, ...]

    def bits(self, depths: Sequence[int], before: Sequence[int]) -> tuple[float, float, float]:
        """Return the bits of all three, given where tensors are: -1 if not on chip."""
        fresh = _left(self.fresh_chip, depths)
        kept, wider = (_left(some, before) for some in (self.kept_chip, self.wider_chip))
        return self.fresh + fresh, self.kept + kept, self.wider + wider


def _left(some: Iterable[OnChip], depths: Sequence[int]) -> float:
    """Return the bits of those tensors that are in none of their places on chip."""
    return sum(bits for places, bits in some if all(depths[place] < 0 for place in places))


@dataclass(frozen=True, slots=True)
class Usage:
    """The memories: those that Einsums exchange tensors in (`inner`), others below the outermost
    one (`deep`), and that (`outer`); empty where it does not count. `tenants`: of that, per Einsum.
    """

    deep: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    outer: str = ""
    tenants: tuple[Tenants, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of their numbers in labels."""
        return (*self.deep, *self.inner, *filter(None, (self.outer,)))

    @property
    def of_points(self) -> tuple[str, ...]:
        """Those of which a mapping of one Einsum says what it uses itself: of the outermost what no
        other one uses, a copy all."""
        return (*self.deep, self.outer) if self.outer else self.deep

    @property
    def none(self) -> tuple[float, ...]:
        """Nothing used: a bound of every usage."""
        return (0.0,) * len(self.names)

    def of(self, score: Score) -> tuple[float, ...]:
        """Return the usages of a score."""
        return tuple(float(score.capacity.get(name, 0)) for name in self.names)


NO_USAGE = Usage()


def usage_of(
    runs: Sequence[Run], memories: Iterable[str], room: Room, boundaries: Boundaries
) -> Usage:
    """Prepare to count how much of `memories` is used.

    UnsupportedFeature where they are spread over an Array, or a tensor changes its size.
    """
    asked = frozenset(memories)
    if not asked:
        return NO_USAGE
    _refuse_spread(runs, asked)
    inner = tuple(name for name in room.memories if name in asked)
    for name in inner:
        refuse_unclear_tiles(runs, name, boundaries)
        refuse_unsettled(runs, name, boundaries)
    for name in (n for n in (room.outer, room.inner) if n in asked):
        # by default what a copy writes on chip is there from then on
        sure = _copied(boundaries) if name in inner and boundaries.shares_room else frozenset()
        refuse_copied(runs, str(name), boundaries)
        refuse_gaps(str(name), boundaries.workload, sure)
    seen = dict.fromkeys(c.name for _, flat in runs for c in flat.components)
    deep = tuple(name for name in seen if name in asked - {room.outer, *inner})
    if room.outer not in asked:
        return Usage(deep, inner)
    return Usage(deep, inner, room.outer, _tenants(runs, boundaries))


def _refuse_spread(runs: Sequence[Run], asked: frozenset[str]) -> None:
    for component in (c for _, flat in runs for c in flat.components):
        if component.name in asked and component.physical_fanout > 1:
            raise UnsupportedFeature(
                f"the usage of {component.name} is not counted: it is spread over an Array",
                instead="leave that usage out",
            )


def _copied(boundaries: Boundaries) -> frozenset[str]:
    copies = [einsum for einsum in boundaries.workload.einsums if einsum.is_copy]
    return frozenset(access.tensor for einsum in copies for access in einsum.outputs)


def refuse_gaps(memory: str, workload: Workload, sure: frozenset[str] = frozenset()) -> None:
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


def _tenants(runs: Sequence[Run], boundaries: Boundaries) -> tuple[Tenants, ...]:
    workload = boundaries.workload
    whole = {t: _whole(runs, t) for t in workload.tensors}
    always = {a.tensor for einsum in workload.einsums for a in einsum.accesses if a.persistent}
    span = {t: (users[0], users[-1]) for t, users in boundaries.users.items()}
    found: list[Tenants] = []
    live: tuple[str, ...] = ()
    for number, einsum in enumerate(workload.einsums):
        bits = {t: sizes[max(number, span[t][0])] for t, sizes in whole.items()}
        until = {t: sizes[max(number - 1, span[t][0])] for t, sizes in whole.items()}
        own = [place.tensor for place in boundaries.of(einsum)]
        # of these a mapping says itself whether they are there
        hidden = {t for t in einsum.tensors if einsum.is_copy or len(boundaries.users[t]) == 1}
        seen = [t for t in workload.tensors if t not in always and t not in hidden]
        begun = [t for t in seen if span[t][0] == number]
        stays = [*always, *(t for t in seen if span[t][0] < number <= span[t][1])]
        more = {t: bits[t] - until[t] for t in stays}
        found.append(
            Tenants(
                sum(bits[t] for t in begun if t not in own),
                sum(bits[t] for t in stays if t not in live),
                sum(more[t] for t in stays if t not in live),
                tuple((_places(own, t), bits[t]) for t in begun if t in own),
                tuple((_places(live, t), bits[t]) for t in stays if t in live),
                tuple((_places(live, t), more[t]) for t in stays if t in live),
            )
        )
        live = tuple(place.tensor for place in boundaries.live_after(number))
    return tuple(found)


def _places(tensors: Sequence[str], tensor: str) -> tuple[int, ...]:
    return tuple(place for place, other in enumerate(tensors) if other == tensor)


def _whole(runs: Sequence[Run], tensor: str) -> dict[int, float]:
    """Return the bits of a whole tensor in the outermost memory while each Einsum runs, from the
    first one that uses it: in the width of the last one to do so."""
    memory = memories_of(runs[0][1])[0].name
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
