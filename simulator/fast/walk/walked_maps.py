"""Remember what maps of operations on registers add to a walk, so that equal ones are walked once.

A kernel has one such map for each row of its tile. Rows that begin at the same memory banks take
the same cycles (theory/engines.md §10).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from operator import itemgetter
from typing import NamedTuple

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.walk.memory_work import OperationMap
from tilewright.simulator.fast.walk.plain_code import CodeWords
from tilewright.simulator.fast.walk.register_work import HeldVector
from tilewright.simulator.fast.walk.walk_state import WalkState

Counts = tuple[list[int], list[int], list[int], list[int]]
"""Four counts of each operation."""
Registers = Mapping[int, HeldVector]


class MapState(NamedTuple):
    """What a map changes: `counts` of operations, and `places`, the addresses in registers.

    Or by how much it changes them, in a `WalkedMap`.
    """

    counts: tuple[tuple[int, ...], ...]
    places: Mapping[int, int]

    @staticmethod
    def of(counts: Counts, registers: Registers) -> MapState:
        """Return a copy of the counts and of the first words that the registers hold."""
        places = {number: vector.position for number, vector in registers.items()}
        return MapState(tuple(map(tuple, counts)), places)


class WalkedMap(NamedTuple):
    """What one walk of turns added: cycles, counts, and words by which its registers moved."""

    cycles: int
    added: MapState

    @staticmethod
    def between(cycles: int, before: MapState, after: MapState) -> WalkedMap:
        """Return what a walk of so many cycles added, by the states before and after it."""
        counts = tuple(
            tuple(new - old for new, old in zip(news, olds, strict=True))
            for news, olds in zip(after.counts, before.counts, strict=True)
        )
        moves = {number: place - before.places[number] for number, place in after.places.items()}
        return WalkedMap(cycles, MapState(counts, moves))

    def repeat(self, times: int, counts: Counts, registers: Registers) -> int:
        """Add to counts and registers what so many such walks add; return their cycles."""
        for of_operations, more in zip(counts, self.added.counts, strict=True):
            for number, count in enumerate(more):
                of_operations[number] += times * count
        for number, words in self.added.places.items():
            registers[number].position += times * words
        return times * self.cycles


class Turns:
    """The turns of a map so far: those whose registers began at each combination of banks.

    A turn whose registers begin at the same banks as those of an earlier one does the same, and so
    do all that follow, turn by turn.
    """

    def __init__(self) -> None:
        self._begun: dict[Hashable, tuple[int, int, MapState]] = {}

    def period(self, turn: int, passed: int, now: MapState) -> tuple[int, WalkedMap] | None:
        """Return after how many turns all repeats, and what these add; None if nothing does yet.

        turn: number of the one that begins; passed: cycles before it; now: the state then.
        """
        banks = tuple(place % at.BANKS for place in now.places.values())
        if banks not in self._begun:
            self._begun[banks] = turn, passed, now
            return None
        first, before, then = self._begun[banks]
        return turn - first, WalkedMap.between(passed - before, then, now)


class WalkedMaps:
    """What maps added that were walked, by the map and the banks at which its registers began."""

    def __init__(self) -> None:
        self.known: dict[Hashable, WalkedMap] = {}

    @staticmethod
    def key(code: CodeWords, work: OperationMap, state: WalkState) -> Hashable | None:
        """Return a key to find again what a map adds, None if it may depend on more.

        The key has the map and, for each register, the vector that it holds and the memory bank at
        which it begins. None beside microthreads, with operands other than registers, or with
        traced addresses.
        """
        held = sorted(state.registers.items(), key=itemgetter(0))
        is_plain = all(type(vector.position) is int for _, vector in held)
        on_registers = all(code[op + at.O_SPECIAL] for op in work.body)
        if state.touched or not is_plain or not on_registers:
            return None
        return work.after, tuple((n, v.row, v.saves, v.position % at.BANKS) for n, v in held)

    def keep(self, key: Hashable, walked: WalkedMap) -> None:
        """Keep what a walk of a map added, with the walk's state before it as the key."""
        self.known[key] = walked
