"""What Einsums exchange: which tensors may stay on chip, and below which loops.

A loop that two Einsums share runs over one rank variable, whatever each calls it (rank_names.py).
It may stand above a tensor that they exchange only if it is fully relevant to it, in the same rank
on both sides: otherwise a tile would be needed before it is complete, or computed twice
(fusion.md §1.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.rank_names import LoopNames, loop_names, ranks_of
from tilewright.mapper.searches.unfused import shared_tensors
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload


class TensorPlace(NamedTuple):
    """A tensor in one of the memories that Einsums may exchange it in."""

    tensor: str
    memory: str


@dataclass(frozen=True)
class ExchangedTensors:
    """The exchanged tensors of a workload.

    `chip`: may stay on chip, in one of `memories`, those of `copied` in the first; `backed`: other
    tensors of several Einsums, which stay in the outermost memory; `carried[T]`: loops that may be
    shared above T, by the names in `names`, which has one for every rank variable of each Einsum;
    `users[T]`: numbers of the Einsums that touch T; `contested`: tensors that two Einsums may want
    to hold in different places above the same shared loop; `apart`: those of them that Einsums see
    through different windows; `shares_room`: where both hold one at the same place, it takes room
    once; `tolls`: those that tensors may pass on the way to any Einsum; `varied`, `unsettled`: see
    tiled and tensor_views.py; `kept[T]`: those of `memories` that T may stay in, if not all.
    """

    workload: Workload
    exchangeable: frozenset[str]
    outermost_only: frozenset[str]
    loop_names: LoopNames
    shareable_loops: Mapping[str, frozenset[str]]
    users: Mapping[str, tuple[int, ...]]
    contested: frozenset[str]
    varied_windows: frozenset[str]
    shares_tiles: bool = True
    memories: tuple[str, ...] = ("",)
    copied: frozenset[str] = frozenset()
    tolls: tuple[str, ...] = ()
    varied_widths: frozenset[str] = frozenset()
    bounded_widths: frozenset[str] = frozenset()
    memories_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def tracked_tiles(self) -> frozenset[str]:
        """The contested tensors of which the tile of an earlier Einsum matters to a later one: all
        where it is one tile, else those that Einsums see in different widths (shared_tiles.py)."""
        return self.contested if self.shares_tiles else self.varied_widths

    def places_of_einsum(self, einsum: Einsum) -> tuple[TensorPlace, ...]:
        """Return where tensors of `einsum` may stay on chip."""
        return tuple(
            p for t in einsum.tensors if t in self.exchangeable for p in self.places_of_tensor(t)
        )

    def places_of_tensor(self, tensor: str) -> tuple[TensorPlace, ...]:
        """Return where a tensor may stay on chip, if it may."""
        memories = self.memories_of.get(tensor, self.memories)
        memories = self.memories[:1] if tensor in self.copied else memories
        return tuple(TensorPlace(tensor, memory) for memory in memories)

    def users_sharing_loops(self, tensor: str) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of the Einsums that touch `tensor`, in runs that may share loops above
        which each holds it: through other tensors."""
        return _users_sharing_loops(tensor, self.users, self.exchangeable)

    def loop_names_of(self, einsum: Einsum) -> Mapping[str, str]:
        """Return the name of the loops over each of its rank variables."""
        return self.loop_names[self.workload.einsums.index(einsum)]

    def shareable_variables(self, einsum: Einsum) -> dict[str, frozenset[str]]:
        """Return `carried` of its tensors, in its own rank variables."""
        names = self.loop_names_of(einsum)
        own = ((t, self.shareable_loops[t]) for t in einsum.tensors if t in self.shareable_loops)
        return {t: frozenset(v for v in names if names[v] in loops) for t, loops in own}

    def live_after(self, number: int) -> tuple[TensorPlace, ...]:
        """Return the tensors that may be on chip between Einsum `number` and the next one, each
        wherever it may be."""
        names = (t for t in self.workload.tensors if t in self.exchangeable)
        live = (t for t in names if self.users[t][0] <= number < self.users[t][-1])
        return tuple(place for tensor in live for place in self.places_of_tensor(tensor))


def exchanged_tensors_of(
    workload: Workload,
    shares_room: bool = True,
    counts: bool = True,
    memories: tuple[str, ...] = ("",),
) -> ExchangedTensors:
    """Analyse what the Einsums of `workload` exchange, on chip in one of `memories`.

    `counts`: Einsums that run a different number of times (n_instances) exchange through the
    outermost memory: which run of the one feeds which run of the other is not said.
    """
    users = {
        tensor: tuple(i for i, e in enumerate(workload.einsums) if tensor in e.tensors)
        for tensor in workload.tensors
    }
    chip = frozenset(
        tensor
        for tensor in workload.tensors
        if _is_exchangeable(workload, users[tensor], tensor)
        and not (counts and _counts_differ(workload, users[tensor]))
    )
    shared = shared_tensors(workload)
    contested = {t for t in shared if any(len(c) > 1 for c in _users_sharing_loops(t, users, chip))}
    names = loop_names(workload, {t: users[t] for t in chip})
    return ExchangedTensors(
        workload,
        chip,
        shared - chip,
        names,
        {t: _shareable_loops((workload, names), t, users[t]) for t in sorted(chip)},
        users,
        frozenset(contested),
        frozenset(t for t in contested if _has_varied_windows((workload, names), t, users[t])),
        shares_room,
        memories,
        frozenset(t for e in workload.einsums if e.is_copy for t in e.tensors),
    )


def _is_exchangeable(workload: Workload, users: tuple[int, ...], tensor: str) -> bool:
    einsums = [workload.einsums[i] for i in users]
    accesses = [einsum.access(tensor) for einsum in einsums]
    return (
        len(users) > 1
        and accesses[0].output
        and not any(access.output for access in accesses[1:])
        and not any(access.persistent for access in accesses)
    )


def _counts_differ(workload: Workload, users: tuple[int, ...]) -> bool:
    return len({workload.einsums[i].n_instances for i in users}) > 1


def _shareable_loops(
    named: tuple[Workload, LoopNames], tensor: str, users: tuple[int, ...]
) -> frozenset[str]:
    workload, names = named
    ranks = []
    for number in users:
        access = workload.einsums[number].access(tensor)
        alone = ((r, v) for r, v in ranks_of(access) if access.relevance(v) == "relevant")
        ranks.append({(rank, names[number][v]) for rank, v in alone})
    return frozenset(name for _, name in set.intersection(*ranks))


def _users_sharing_loops(
    tensor: str, users: Mapping[str, tuple[int, ...]], chip: frozenset[str]
) -> tuple[tuple[int, ...], ...]:
    """Return the users of `tensor` in runs in which each may share loops with the next one through
    other tensors."""
    spans = [users[other] for other in sorted(chip) if other != tensor]
    found = [[user] for user in users[tensor][:1]]
    for one, two in pairwise(users[tensor]):
        if all(any(span[0] <= b < span[-1] for span in spans) for b in range(one, two)):
            found[-1].append(two)
        else:
            found.append([two])
    return tuple(map(tuple, found))


def _has_varied_windows(
    named: tuple[Workload, LoopNames], tensor: str, users: tuple[int, ...]
) -> bool:
    """Tell whether a loop of two users is relevant to `tensor` in another way for one of them."""
    workload, names = named
    seen: dict[str, str] = {}
    for number in users:
        access = workload.einsums[number].access(tensor)
        for variable, name in names[number].items():
            relevance = access.relevance(variable)
            if seen.setdefault(name, relevance) != relevance:
                return True
    return False
