"""The best order of the loops around a vector operation, exactly, without writing a program.

An order decides how often each loop begins, which turns stand in front of their loop, and which
loop is a map; the operations move the same values in all of them (theory/grid.md §7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import NamedTuple

from tilewright.simulator.lowering.kernel import ElementKernel, can_walk, is_line
from tilewright.simulator.profiles.profile import Profile

Loops = tuple[int, ...]
"""Numbers of loops in time, outermost first."""
_NONE: frozenset[int] = frozenset()


class OrderedLoops(NamedTuple):
    """Loops in an order, with their cycles: all but those in which operations move values."""

    cycles: float
    loops: Loops


def best_outer_loops(kernel: ElementKernel, profile: Profile) -> OrderedLoops:
    """Return the loops around a kernel's vector operation in the order of the fewest cycles.

    `kernel`: with its loops in any order. Of equal orders it is the first by the loops' numbers.
    The innermost loop is a map where that may be so.
    """

    def walks(number: int) -> bool:
        others = (other for other in kernel.outer if other != number)
        return can_walk(replace(kernel, outer=(*others, number)))

    return min(
        _Around(kernel, profile, walk).best()
        for walk in (*filter(walks, kernel.outer), None)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Around:
    """The loops around an operation, one of which may be a map around it (`walk`), innermost.

    An operation alone, or with its map, is a *leaf*. Where values of the output are new, the first
    turn of a loop that is summed over stands in front of it, and its counter is *fixed*.
    """

    kernel: ElementKernel
    profile: Profile
    walk: int | None

    def best(self) -> OrderedLoops:
        """Return the order with the fewest cycles on all tiles.

        What a loop costs depends on which loops stand outside it, not on their order: so the best
        order of a set follows from those of the sets that have one loop less.
        """
        around = tuple(number for number in self.kernel.outer if number != self.walk)
        best = {_NONE: OrderedLoops(0.0, ())}
        for size in range(1, len(around) + 1):
            for chosen in map(frozenset, combinations(around, size)):
                inside = [number for number in around if number not in chosen]
                best[chosen] = min(self._extended(best, chosen, inside))
        cycles, loops = best[frozenset(around)]
        cycles += self._leaves(around)
        return OrderedLoops(cycles, loops if self.walk is None else (*loops, self.walk))

    def _extended(
        self,
        best: dict[frozenset[int], OrderedLoops],
        chosen: frozenset[int],
        inside: Sequence[int],
    ) -> Iterator[OrderedLoops]:
        """Yield the best orders of some loops, one for each that may be innermost of them."""
        for number in chosen:
            cycles, loops = best[chosen - {number}]
            cycles += self._loop(number, chosen - {number}, inside)
            yield OrderedLoops(cycles, (*loops, number))

    def _loop(self, number: int, outside: frozenset[int], inside: Sequence[int]) -> float:
        """Return the cycles of a loop, and what it saves in leaves by its turn in front of it."""
        profile, turns = self.profile, self._turns(number)
        each = (
            profile.counter_cycles
            + (turns - 1) * profile.loop_back_edge_cycles
            + profile.branch_not_taken_cycles
        )
        firsts, tiles = self._tiles
        cycles = tiles * self._product(outside) * each
        if not self._is_summed(number):
            return cycles
        fixed = self._fixed_above | set(filter(self._is_summed, outside))
        saved = self._leaf(self._fixed_above) - self._leaf(fixed)
        leaves = (turns - 1) * self._product(inside)
        new = firsts * self._product(n for n in outside if not self._is_summed(n))
        return cycles - new * (profile.loop_back_edge_cycles + leaves * saved)

    def _leaves(self, around: Loops) -> float:
        """Return the cycles of all leaves, as if counters were fixed in the first of them only."""
        firsts, tiles = self._tiles
        number = self._product(around)
        new = self._product(n for n in around if not self._is_summed(n))
        fixed = self._fixed_above | set(filter(self._is_summed, around))
        return (
            (tiles - firsts) * number * self._leaf(_NONE)
            + firsts * (number - new) * self._leaf(self._fixed_above)
            + firsts * new * self._leaf(fixed, first=True)
        )

    def _leaf(self, fixed: frozenset[int], *, first: bool = False) -> float:
        """Return the cycles of a leaf; `first`: values of the output are new."""
        if self.walk is None:
            return self._operation(fixed)
        profile, scalar = self.profile, self.kernel.read.scalar
        assert scalar is not None  # can_walk
        turns, cycles, is_new = self._turns(self.walk), 0.0, first
        if first and self._is_summed(self.walk):
            turns, cycles, is_new = turns - 1, self._operation(fixed | {self.walk}), False
        loads = len(self.kernel.loops) + (not is_new)  # sums are read, too
        return (
            cycles
            + loads * min(profile.counter_cycles, profile.task_control_cycles)
            + profile.descriptor_use_cycles
            + self._is_moved(scalar, fixed | {self.walk}) * profile.increment_offset_cycles
            + turns * (profile.map_step_cycles + 1)
            + 2 * profile.scalar_operation_cycles
        )

    def _operation(self, fixed: frozenset[int]) -> float:
        """Return the cycles of an operation before it moves values."""
        profile, kernel = self.profile, self.kernel
        extended = sum(not is_line(loops) for loops in kernel.loops.values())
        moved = sum(self._is_moved(name, fixed) for name in kernel.loops)
        return (
            (len(kernel.loops) - 1) * profile.descriptor_load_cycles
            + profile.descriptor_use_cycles
            + extended * profile.extended_descriptor_cycles
            + moved * profile.increment_offset_cycles
            + (kernel.read.scalar is not None) * profile.scalar_load_cycles
        )

    def _is_moved(self, name: str, fixed: frozenset[int]) -> bool:
        """Return whether the place of an operand depends on a counter that is not fixed."""
        layout, numbers = self.kernel.layouts[name], (*self._above, *self.kernel.outer)
        return layout.tensor.buffers > 1 or any(layout.moves[n] for n in numbers if n not in fixed)

    @property
    def _above(self) -> range:
        return range(self.kernel.read.kernel)

    @property
    def _fixed_above(self) -> frozenset[int]:
        """The loops above the tiles whose counters are fixed on tiles with new values."""
        if any(tensor.buffers > 1 for tensor in self.kernel.read.tensors):
            return _NONE
        return frozenset(filter(self._is_summed, self._above))

    @property
    def _tiles(self) -> tuple[int, int]:
        """The number of tiles with new values of the output, and of all."""
        return self._product(n for n in self._above if not self._is_summed(n)), self._product(
            self._above
        )

    def _product(self, numbers: Iterator[int] | Sequence[int] | frozenset[int]) -> int:
        return prod(map(self._turns, numbers))

    def _turns(self, number: int) -> int:
        return self.kernel.read.time[number].count

    def _is_summed(self, number: int) -> bool:
        read = self.kernel.read
        return read.is_reduced(read.time[number].variable)
