"""Closed formulas of one element's cycles, without waiting, for a family of mappings.

They leave out what takes long to find (some conflicts of banks, branches), so that no plan of the
family has fewer (theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.simulator.lowering.elementary import COMPUTE
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.lowering.sums.sum_chains import word_cycles
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.bounds.element_work import ElementWork
from tilewright.simulator.search.bounds.elementwise import Numbers, chosen, least, most
from tilewright.simulator.search.bounds.family_tiles import FamilyTiles


class SumCount(NamedTuple):
    """The least that an element does with each tile of the output.

    `operations`: number of receives, sends and shares of its own tile. `passed`: number of tiles of
    other elements that it sends on behind its own.
    """

    operations: Numbers
    passed: Numbers = 0


class _Transfers(NamedTuple):
    """Receives and sends beside the main thread: their number, and their words together."""

    number: Numbers
    words: Numbers


@dataclass(frozen=True)
class ElementCycles:
    """Closed formulas of the cycles of one element for the families of a mapspace.

    `space`: the mapspace; `profile`: the machine. Waiting is left out, so no run takes fewer
    cycles.
    """

    space: GridMapspace
    profile: Profile

    @cached_property
    def work(self) -> ElementWork:
        """The cycles of its operations on its points."""
        return ElementWork(self.space, self.profile)

    @property
    def load(self) -> float:
        """Cycles to load the descriptors of an operation."""
        return self.work.load

    def words(self, number: Numbers) -> Numbers:
        """Return the cycles of an operation that receives or sends so many words."""
        return word_cycles(number, self.profile)

    @cached_property
    def _word(self) -> float:
        """Cycles in which an operation receives or sends one word."""
        return float(self.profile.cycles_per_wavelet)

    def least_transfers(self, words: Numbers) -> Numbers:
        """Return cycles of an element in which it receives or sends so many words, beside work."""
        return self._slots(words)

    # -- what comes and goes ---------------------------------------------------------------

    def alone(self, tiles: FamilyTiles) -> BodyCycles:
        """Return the cycles of an element that neither adds sums of others nor sends its own."""
        (work, on_tile), received = self.work.of(tiles), self._received(tiles)
        labels = [f"receive {access.tensor}" for access, _, _ in received]
        until: dict[str, Numbers] = dict.fromkeys(
            labels, self._operations(words for _, words, _ in received)
        )
        thread, slot = self._receives(tiles)
        since = {
            label: on_tile if passes else work
            for label, (_, _, passes) in zip(labels, received, strict=True)
        }
        return BodyCycles(
            total=work + most(thread, slot),
            slot=work + slot,
            since={**since, COMPUTE: 0.0},
            until=until,
        )

    def alone_with(self, tiles: FamilyTiles, vector: tuple[str, ...]) -> Numbers:
        """Return the least cycles of such an element where its operation runs over some loops."""
        return self.work.with_vector(tiles, vector) + most(*self._receives(tiles))

    def _received(self, tiles: FamilyTiles) -> list[tuple[TensorAccess, Numbers, bool]]:
        """Return the inputs that an element receives: access, words, whether in tiles."""
        family = tiles.family
        return [
            (a, words, a.tensor in tiles.passing and a.tensor not in family.shifted)
            for a, words in zip(self.space.einsum.inputs, tiles.input_words, strict=True)
            if a.tensor not in family.resident
        ]

    def _operations(self, words: Iterable[Numbers]) -> Numbers:
        """Return the cycles of operations, one after the other, that move so many words each."""
        return sum(self.load + self.words(number) for number in words)

    def _receives(self, tiles: FamilyTiles) -> tuple[Numbers, Numbers]:
        """Return the cycles of an element's receives, and of the loop over its tiles.

        Those of the main thread, and those in which the issue slot is in use.
        """
        family, received = tiles.family, self._received(tiles)
        once = self._operations(words for _, words, passes in received if not passes)
        each = {access: words for access, words, passes in received if passes}
        if family.tile is None:
            return once, once
        if family.shifts:
            thread, slot = self._shifting(tiles)
            return once + (tiles.steps - 1) * thread, once + (tiles.steps - 1) * slot
        if family.buffers == 2:
            moved = _Transfers(len(each), sum(each.values()))
            thread, slot = self._overlapped(moved, max(1, len(each)))
            return once + tiles.steps * thread, once + tiles.steps * slot
        loops = tiles.passes * self.work.loop(tiles.steps // tiles.passes - 1)
        taken = sum(tiles.turns(a) * self._operations([words]) for a, words in each.items())
        return once + loops + taken, once + loops + taken

    def _shifting(self, tiles: FamilyTiles) -> tuple[Numbers, Numbers]:
        """Return the cycles around the work on one tile while tiles come and go along rings."""
        shifted = tiles.family.shifted
        words = [words for access, words, _ in self._received(tiles) if access.tensor in shifted]
        moved = _Transfers(2 * len(words), 2 * sum(words))
        return self._overlapped(moved, moved.number)

    def _overlapped(self, moved: _Transfers, tasks: Numbers) -> tuple[Numbers, Numbers]:
        """Return the cycles around the work on one tile while other tiles are received and sent.

        Those of the main thread, and those of the issue slot, which each word needs for a cycle. A
        turn changes three counters and branches three times at least.
        """
        profile = self.profile
        counting = min(profile.counter_cycles, profile.task_control_cycles)
        branching = min(profile.branch_taken_cycles, profile.branch_not_taken_cycles)
        thread, slot = self._beside(moved, tasks)
        return thread + 3 * (counting + branching), slot + 3 * (counting + branching)

    def _beside(self, moved: _Transfers, tasks: Numbers) -> tuple[Numbers, Numbers]:
        """Return the cycles of transfers beside the main thread: its own, and of the issue slot.

        `tasks`: number of tasks that they start.
        """
        profile = self.profile
        busy = self.load * moved.number + tasks * profile.task_switch_cycles
        starting = profile.issue_cycles * moved.number + tasks * profile.task_end_cycles
        return busy + starting, busy + self._slots(moved.words)

    def with_sums(self, tiles: FamilyTiles, alone: BodyCycles, sums: SumCount) -> Numbers:
        """Return the cycles of an element with its sums and results.

        `alone`: those without them; `sums`: what it does with each tile of the output.
        """
        words, (operations, passed) = tiles.output_words, sums
        moved = _Transfers(operations + chosen(passed > 0, 1, 0), words * (operations + passed))
        turns = tiles.turns(self.space.einsum.outputs[0])
        if tiles.family.buffers == 1:
            sent = self.words(words) * operations + self.words(words * passed)
            return alone.total + turns * (self.load * moved.number + sent)
        once = alone.total + self.load * moved.number + self._slots(moved.words)
        thread, slot = (turns * cycles for cycles in self._beside(moved, moved.number - 1))
        often = most(alone.slot + slot, alone.total + least(thread, slot))
        return chosen(moved.number == 0, alone.total, chosen(turns == 1, once, often))

    def _slots(self, words: Numbers) -> Numbers:
        """Return the cycles in which words of transfers have the issue slot."""
        return min(1.0, self._word) * words
