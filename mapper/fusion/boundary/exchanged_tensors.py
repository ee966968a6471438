"""Find the tensors that Einsums may exchange on chip, and the loops that may be shared above them.

A loop that two Einsums share runs over one rank variable, whatever each calls it (rank_names.py).
It may stand above a tensor that they exchange only if it is fully relevant to that tensor, in the
same rank on both sides. Otherwise a tile would be read before it is complete, or computed twice
(theory/fusion.md §1.3).

Example: `Y[m, n] = A[m, k] * B[k, n]` and `Z[m, p] = Y[m, n] * C[n, p]` exchange Y. Loops over m
and n may be shared above Y. A loop over k may not: below it Y is a partial sum. A loop over p may
not: below it Y would be computed again for each p.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.awaited_reads import AwaitedRead, awaited_reads
from tilewright.mapper.fusion.boundary.rank_names import LoopNames, aligned_ranks, loop_names
from tilewright.mapper.searches.unfused import shared_tensors
from tilewright.mapper.templates.placement import Holder
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload


class TensorPlace(NamedTuple):
    """Name a tensor and a memory on chip in which Einsums may exchange it.

    Where held tiles are listed, `memory` may also be a Toll that the tensor passes.
    """

    tensor: str
    memory: str

    @classmethod
    def of(cls, holder: Holder) -> TensorPlace:
        """Return the place of a holder's tile: its tensor and its component."""
        return cls(holder.tensor, holder.component)


class EinsumPath(NamedTuple):
    """Pair an Einsum with the components from the architecture's root to one of its computes."""

    einsum: Einsum
    flat: FlatArch


@dataclass(frozen=True)
class ExchangedTensors:
    """Say which tensors of a workload may stay on chip between Einsums, and which loops they allow.

    Einsums have numbers 0, 1, … in the order of the workload. `exchangeable`: tensors that may stay
    on chip: the first user writes them, later users only read them. `outermost_only`: other tensors
    of several Einsums, which the outermost memory holds. `loop_names[i]`: for each rank variable of
    Einsum i a name that is common to all Einsums, so that variables which index the same rank of an
    exchanged tensor have one name. `shareable_loops[T]`: names of the loops that may be shared
    above T: those fully relevant to T in the same rank for all its users (theory/fusion.md §1.3).
    `users[T]`: numbers of the Einsums that use T. `contested`: tensors of several Einsums of which
    two may share loops through other tensors, so that both may hold a tile of it below the same
    loop. `varied_windows`: contested tensors to which one loop is relevant in different ways for
    two Einsums, for example through a sliding window. `shares_tiles`: two Einsums that hold a
    contested tensor at one place have one tile there, not two. `memories`: memories on chip in
    which tensors may be exchanged, outermost first. `copied`: tensors of copy Einsums, which may
    stay in the first of `memories` only. `tolls`: names of the Tolls on any Einsum's path.
    `varied_widths`: contested tensors with several bits per value in one memory. `bounded_widths`:
    those of them of which a usage of memory is only known up to a bound. `memories_of[T]`: the
    memories in which T may stay, if not all. `used_outside`: of a part of a workload, the
    exchangeable tensors that stay in the outermost memory because Einsums outside use them, too.
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
    awaited_reads: tuple[AwaitedRead, ...] = ()
    used_outside: frozenset[str] = frozenset()

    @property
    def tracked_tiles(self) -> frozenset[str]:
        """Contested tensors of which the search must remember the tile that earlier Einsums hold.

        A contested tensor is used by two Einsums that may share loops through other tensors. Where
        both tiles are one (`shares_tiles`), that is every contested tensor; otherwise only those
        with several bits per value, because all tiles take the width that the last Einsum sees.
        """
        return self.contested if self.shares_tiles else self.varied_widths

    def places_of_einsum(self, einsum: Einsum) -> tuple[TensorPlace, ...]:
        """Return the (tensor, memory) pairs in which tensors of an Einsum may stay on chip.

        They stand in the order of the Einsum's tensors, and for one tensor outermost memory first.
        This list is the boundary of the Einsum: elsewhere its entries are called by their
        positions.
        """
        return tuple(
            place
            for tensor in einsum.tensors
            if tensor in self.exchangeable
            for place in self.places_of_tensor(tensor)
        )

    def places_of_tensor(self, tensor: str) -> tuple[TensorPlace, ...]:
        """Return the (tensor, memory) pairs in which one exchanged tensor may stay on chip.

        `tensor`: one that may stay on chip between Einsums. Outermost memory first. A tensor of a
        copy Einsum (one that only moves a tensor) has the first memory only.
        """
        memories = self.memories_of.get(tensor, self.memories)
        memories = self.memories[:1] if tensor in self.copied else memories
        return tuple(TensorPlace(tensor, memory) for memory in memories)

    def users_sharing_loops(self, tensor: str) -> tuple[tuple[int, ...], ...]:
        """Group the Einsums that use a tensor by whether other tensors let them share loops.

        Return their numbers. Two users in a row are in one group if between any two neighbouring
        Einsums from the first to the second some other exchangeable tensor is live, that is,
        written before and read after. Example: A is used by Einsums 0, 1 and 4, and Y is written by
        0 and read by 1 only: the groups are (0, 1) and (4,).
        """
        return _users_sharing_loops(tensor, self.users, self.exchangeable)

    def loop_names_of(self, einsum: Einsum) -> Mapping[str, str]:
        """Return, for each rank variable of an Einsum, its name common to all Einsums.

        Variables of several Einsums that index the same rank of an exchanged tensor have one common
        name, so that loops over them can be shared.
        """
        return self.loop_names[self._numbers[einsum.name]]

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        """The number of each Einsum, by name."""
        return {einsum.name: number for number, einsum in enumerate(self.workload.einsums)}

    def shareable_variables(self, einsum: Einsum) -> dict[str, frozenset[str]]:
        """Return, per exchangeable tensor of an Einsum, the variables of loops shared above it.

        A fused loop, which several Einsums may run together, may stand above the tensor only over
        these rank variables. They have the names that the Einsum itself gives them
        (theory/fusion.md §1.3).
        """
        names = self.loop_names_of(einsum)
        loops = {t: self.shareable_loops[t] for t in einsum.tensors if t in self.shareable_loops}
        return {t: frozenset(v for v in names if names[v] in loops[t]) for t in loops}

    def live_after(self, number: int) -> tuple[TensorPlace, ...]:
        """Return the (tensor, memory) pairs that may be on chip between two Einsums.

        Those are the exchangeable tensors that Einsum `number` or an earlier one writes, and a
        later one reads. They stand in the order of the workload's tensors.
        """
        exchangeable = self.exchangeable - self.used_outside
        tensors = (t for t in self.workload.tensors if t in exchangeable)
        live = (t for t in tensors if self.users[t][0] <= number < self.users[t][-1])
        return tuple(place for tensor in live for place in self.places_of_tensor(tensor))

    def part(self, first: int, end: int) -> ExchangedTensors:
        """Return what the Einsums `first` to `end - 1` exchange among themselves.

        They are numbered from 0; numbers of Einsums outside are below 0 or beyond the last. Tensors
        that Einsums outside use, too, are never live on chip; they keep their places in the lists.
        """
        einsums = self.workload.einsums[first:end]
        users = {t: tuple(n - first for n in numbers) for t, numbers in self.users.items()}
        passing = {t for t in self.exchangeable if users[t][0] < 0 or users[t][-1] >= len(einsums)}
        return replace(
            self,
            workload=replace(self.workload, einsums=einsums),
            used_outside=frozenset(passing),
            loop_names=self.loop_names[first:end],
            users=users,
            awaited_reads=tuple(read.renumbered(-first) for read in self.awaited_reads),
        )


def exchanged_tensors_of(
    workload: Workload,
    shares_tiles: bool = True,
    same_instances: bool = True,
    memories: tuple[str, ...] = ("",),
    complete_reads: bool = True,
) -> ExchangedTensors:
    """Find which tensors the Einsums of a workload may keep on chip between them.

    `shares_tiles`: two Einsums that hold one tensor at one place above shared loops have one tile
    there. `same_instances`: a tensor whose users have different numbers of instances (n_instances)
    stays in the outermost memory, because the workload does not say which run of the one feeds
    which run of the other. `memories`: names of the memories on chip in which tensors may stay,
    outermost first. `complete_reads`: Einsums read complete values only. Fields that depend on the
    architecture (`tolls`, `varied_widths`,
    `bounded_widths`, `memories_of`) are left empty (theory/fusion.md §1.1).
    """
    users = _users_of_tensors(workload)
    exchangeable = _exchangeable_tensors(workload, users, same_instances)
    shared = shared_tensors(workload)
    contested = _contested_tensors(shared, users, exchangeable)
    names = loop_names(workload, {tensor: users[tensor] for tensor in exchangeable})
    uses = _TensorUses(workload, names, users)
    return ExchangedTensors(
        workload=workload,
        exchangeable=exchangeable,
        outermost_only=shared - exchangeable,
        loop_names=names,
        shareable_loops={tensor: uses.shareable_loops(tensor) for tensor in sorted(exchangeable)},
        users=users,
        contested=contested,
        varied_windows=frozenset(filter(uses.has_varied_windows, contested)),
        shares_tiles=shares_tiles,
        memories=memories,
        copied=frozenset(t for e in workload.einsums if e.is_copy for t in e.tensors),
        awaited_reads=awaited_reads(workload, names) if complete_reads else (),
    )


def _users_of_tensors(workload: Workload) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the Einsums that use each tensor, in order of first use."""
    users: dict[str, list[int]] = {}
    for number, einsum in enumerate(workload.einsums):
        for tensor in dict.fromkeys(einsum.tensors):
            users.setdefault(tensor, []).append(number)
    return {tensor: tuple(numbers) for tensor, numbers in users.items()}


def _exchangeable_tensors(
    workload: Workload, users: Mapping[str, tuple[int, ...]], same_instances: bool
) -> frozenset[str]:
    """Return the tensors that may stay on chip between the Einsums that use them.

    `users[T]`: numbers of the Einsums that use T. `same_instances`: leave out tensors whose users
    have different numbers of instances.
    """
    return frozenset(
        tensor
        for tensor, numbers in users.items()
        if _is_exchangeable(workload, numbers, tensor)
        and not (same_instances and _instances_differ(workload, numbers))
    )


def _contested_tensors(
    shared: Collection[str], users: Mapping[str, tuple[int, ...]], exchangeable: Collection[str]
) -> frozenset[str]:
    """Return those tensors of `shared` of which two users may share loops through other tensors.

    `users[T]`: numbers of the Einsums that use T. `exchangeable`: tensors that may stay on chip.
    """
    return frozenset(
        tensor
        for tensor in shared
        if any(len(group) > 1 for group in _users_sharing_loops(tensor, users, exchangeable))
    )


def _is_exchangeable(workload: Workload, users: tuple[int, ...], tensor: str) -> bool:
    """Tell whether only the first of several users writes a tensor, and it does not persist."""
    accesses = [workload.einsums[i].access(tensor) for i in users]
    return (
        len(users) > 1
        and accesses[0].output
        and not any(access.output for access in accesses[1:])
        and not any(access.persistent for access in accesses)
    )


def _instances_differ(workload: Workload, users: tuple[int, ...]) -> bool:
    return len({workload.einsums[i].n_instances for i in users}) > 1


def _users_sharing_loops(
    tensor: str, users: Mapping[str, tuple[int, ...]], exchangeable: Collection[str]
) -> tuple[tuple[int, ...], ...]:
    """Return the Einsums that use `tensor`, in groups whose members may share loops.

    As ExchangedTensors.users_sharing_loops: two users in a row are in one group if other
    exchangeable tensors are live (written before, read after) between all neighbours from the first
    to the second.
    """
    spans = [users[name] for name in sorted(exchangeable) if name != tensor]
    groups = [[user] for user in users[tensor][:1]]
    for user, following in pairwise(users[tensor]):
        if all(any(span[0] <= b < span[-1] for span in spans) for b in range(user, following)):
            groups[-1].append(following)
        else:
            groups.append([following])
    return tuple(map(tuple, groups))


@dataclass(frozen=True, slots=True)
class _TensorUses:
    """Hold which Einsums use which tensors, and the names that their rank variables share.

    `users[T]`: numbers of the Einsums that use T. `loop_names[i]`: for each rank variable of Einsum
    i its name common to all Einsums.
    """

    workload: Workload
    loop_names: LoopNames
    users: Mapping[str, tuple[int, ...]]

    def shareable_loops(self, tensor: str) -> frozenset[str]:
        """Return the loops fully relevant to `tensor` in the same rank for all its users."""
        ranks = []
        for number in self.users[tensor]:
            access = self.workload.einsums[number].access(tensor)
            names = self.loop_names[number]
            relevant = {names[v] for v in names if access.relevance(v) == "relevant"}
            ranks.append({r for r in aligned_ranks(access, names) if r[1] in relevant})
        return frozenset(name for _, name, _ in set.intersection(*ranks))

    def has_varied_windows(self, tensor: str) -> bool:
        """Tell whether some loop has another relevance to `tensor` for one user than for another.

        Example: a loop over p is fully relevant to a tensor indexed by p, and partially to one
        indexed by p + r.
        """
        relevances: dict[str, str] = {}
        for number in self.users[tensor]:
            access = self.workload.einsums[number].access(tensor)
            for variable, name in self.loop_names[number].items():
                relevance = access.relevance(variable)
                if relevances.setdefault(name, relevance) != relevance:
                    return True
        return False
