"""Prove that no memory is overfilled at any moment, and that every lane exists.

While one Einsum runs, a memory holds the tiles of this Einsum; persistent tiles; tiles of tensors
that an earlier Einsum left there for a later one; and tiles of other Einsums that stay over the
turns of a loop which they share with this one. The sum of their shares of the memory may reach 1
(theory/model.md §4.2).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.verification.component_paths import component_paths
from tilewright.mapper.verification.einsum_schedule import EinsumSchedule, common_loops
from tilewright.mapper.verification.held_tiles import EinsumTiles, ReservedTile
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.workload import Workload

Key = tuple[int, str]


def capacity_violations(
    paths: Sequence[FlatArch | Violation], schedules: Sequence[EinsumSchedule], workload: Workload
) -> Iterator[Violation]:
    """Yield a violation for each memory that is overfilled, and for lanes that do not exist.

    `schedules`: of all Einsums, in the order of execution. `paths`: the components of each.
    """
    einsums, unknown = _einsum_tiles(paths, schedules, workload)
    if unknown:
        yield from unknown
        return
    for part in einsums:
        yield from _missing_lanes(part)
    for memory, moment in _fullest(einsums).items():
        if moment.share > 1:
            yield _overfilled(memory, moment)


def fitting_moments(
    paths: Sequence[FlatArch | Violation], schedules: Sequence[EinsumSchedule], workload: Workload
) -> dict[str, FullMoment] | None:
    """Return the fullest moment of each memory; None where `capacity_violations` finds something.

    That is an overfull memory, missing lanes, or a component that is not on the path.
    """
    einsums, unknown = _einsum_tiles(paths, schedules, workload)
    if unknown or any(True for part in einsums for _ in _missing_lanes(part)):
        return None
    fullest = _fullest(einsums)
    return fullest if all(moment.share <= 1 for moment in fullest.values()) else None


def _einsum_tiles(
    paths: Sequence[FlatArch | Violation], schedules: Sequence[EinsumSchedule], workload: Workload
) -> tuple[list[EinsumTiles], list[Violation]]:
    """Return the tiles of all Einsums, and a violation for each whose path lacks a component."""
    tiles = [
        EinsumTiles(schedule, workload.einsum(schedule.einsum), flat)
        for schedule, flat in zip(schedules, paths, strict=True)
        if isinstance(flat, FlatArch)
    ]
    return tiles, [path for path in paths if isinstance(path, Violation)]


def _missing_lanes(part: EinsumTiles) -> Iterator[Violation]:
    fanouts = {(c.name, d.name): d.fanout for c in part.flat.components for d in c.spatial}
    for (component, dim), lanes in part.lanes().items():
        if lanes > fanouts.get((component, dim), 1):
            node = next(
                loop.node
                for loop in part.schedule.loops
                if (loop.component, loop.dim) == (component, dim)
            )
            yield Violation(
                "lanes exist",
                f"Einsum {part.schedule.einsum} runs on {lanes} lanes of {component}.{dim}, which "
                f"has {fanouts.get((component, dim), 1)}",
                "a larger tile in its spatial loop",
                node,
            )


@dataclass(frozen=True, slots=True)
class FullMoment:
    """The moment at which a memory holds most.

    `share`: part of the memory in use, 1 if full. `einsum`: the one that runs. `tiles`: those
    there, the largest first.
    """

    share: Fraction
    einsum: str
    tiles: tuple[ReservedTile, ...]


def fullest_moments(
    arch: Arch, schedules: Sequence[EinsumSchedule], workload: Workload
) -> dict[str, FullMoment]:
    """Return the fullest moment of each memory of finite size that holds something.

    `schedules`: of all Einsums, in the order of execution; their components exist.
    """
    paths = component_paths(arch, workload, schedules)
    return _fullest(_einsum_tiles(paths, schedules, workload)[0])


def _fullest(einsums: Sequence[EinsumTiles]) -> dict[str, FullMoment]:
    moments = _Moments(einsums)
    fullest: dict[str, FullMoment] = {}
    for running in range(len(einsums)):
        for memory, moment in moments.during(running).items():
            if memory not in fullest or moment.share > fullest[memory].share:
                fullest[memory] = moment
    return fullest


def _exchanged_during(tiles_of: Sequence[Sequence[ReservedTile]]) -> list[list[Key]]:
    """Return what is exchanged in each memory while each Einsum runs, by the tiles of each."""
    users: dict[Key, list[int]] = {}
    for number, tiles in enumerate(tiles_of):
        for tile in tiles:
            if tile.is_outermost:
                users.setdefault(tile.key, []).append(number)
    keys: list[list[Key]] = [[] for _ in tiles_of]
    for key, numbers in users.items():
        for running in range(numbers[0], numbers[-1] + 1):
            keys[running].append(key)
    return keys


class _Moments:
    """Finds which tiles are in each memory while each Einsum runs."""

    def __init__(self, einsums: Sequence[EinsumTiles]) -> None:
        self._einsums = einsums
        self._tiles = [einsum.tiles() for einsum in einsums]
        self._users: dict[Key, list[int]] = {}
        self._places: dict[Key, list[tuple[int, int]]] = {}
        self._always: set[tuple[int, int]] = set()
        self._may_share_loops: dict[int | None, list[int]] = {}
        for owner, tiles in enumerate(self._tiles):
            self._may_share_loops.setdefault(_branch(einsums[owner].schedule), []).append(owner)
            for number, tile in enumerate(tiles):
                self._users.setdefault(tile.key, []).append(owner)
                self._places.setdefault(tile.key, []).append((owner, number))
                if tile.holder.is_persistent:
                    self._always.add((owner, number))
        self._exchanged = _exchanged_during(self._tiles)

    def during(self, running: int) -> dict[str, FullMoment]:
        """Return what each memory holds while one Einsum runs."""
        shares: dict[str, dict[Key, Fraction]] = {}
        tiles: dict[Key, ReservedTile] = {}
        for tile in self._there(running):
            share = self._share(tile, running)
            if share is None:
                continue
            in_memory = shares.setdefault(tile.holder.component, {})
            if share >= in_memory.get(tile.key, 0):
                in_memory[tile.key], tiles[tile.key] = share, tile
        name = self._einsums[running].einsum.name
        return {
            memory: FullMoment(
                sum(in_memory.values(), Fraction(0)),
                name,
                tuple(tiles[key] for key in sorted(in_memory, key=lambda k: (-in_memory[k], k))),
            )
            for memory, in_memory in shares.items()
        }

    def _there(self, running: int) -> Iterator[ReservedTile]:
        """Yield the tiles that are live while Einsum number `running` runs.

        Einsums that share a tile have one of equal key each. An Einsum in another branch below no
        loop is only looked at for what it exchanges: a workload may have a thousand.
        """
        schedule = self._einsums[running].schedule
        places = self._always | {(running, number) for number in range(len(self._tiles[running]))}
        places.update(*(self._places[key] for key in self._exchanged[running]))
        for owner in self._may_share_loops[_branch(schedule)]:
            if owner != running:
                shared = common_loops(schedule, self._einsums[owner].schedule)
                tiles = enumerate(self._tiles[owner])
                places |= {(owner, n) for n, tile in tiles if tile.loops_above < shared}
        for owner, number in sorted(places):
            yield self._tiles[owner][number]

    def _share(self, tile: ReservedTile, running: int) -> Fraction | None:
        """Return the part of its memory that a tile takes; None if that has no limit.

        Width and size are those that the running Einsum sees, or the last user of the tile before.
        """
        users = self._users[tile.key]
        last = users[max(bisect_right(users, running) - 1, 0)]
        size = self._einsums[last].capacity(tile.holder.component)
        if size == inf:
            return None
        bits = tile.values * self._width(tile.key, last)
        if not bits:
            return Fraction(0)
        return bits / Fraction(size) if size else Fraction(2)  # more than all of nothing

    def _width(self, key: Key, number: int) -> Fraction:
        return next(tile.bits_per_value for tile in self._tiles[number] if tile.key == key)


def _branch(schedule: EinsumSchedule) -> int | None:
    """Return the branch in which alone other Einsums share a loop; None: any may share one."""
    above_loops = schedule.steps and schedule.steps[0].loops_above == 0
    return schedule.steps[0].branch if above_loops else None


def _overfilled(memory: str, moment: FullMoment) -> Violation:
    named = ", ".join(tile.holder.tensor for tile in moment.tiles[:3])
    return Violation(
        "tiles fit",
        f"while Einsum {moment.einsum} runs, {memory} holds tiles of {float(moment.share):.4g} "
        f"times its size: {named}",
        f"smaller tiles in loops above the Storage nodes of {memory}",
        moment.tiles[0].holder.node,
    )
