"""The orders of the loops on a tile that take an element the fewest cycles (theory/grid.md §7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, prod
from typing import NamedTuple

from tilewright.mapper.grid.grid_mapspace import GridChoice, GridMapspace, LoopOrder, tile_sizes
from tilewright.mapper.grid.grid_shares import local_sizes
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.kernel import ElementKernel
from tilewright.simulator.lowering.lower_bound.cycle_bound import ROUNDING, alone_cycles
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.search.bounds.quick_bound import QuickBound
from tilewright.simulator.search.orders.loop_costs import best_outer_loops
from tilewright.simulator.search.orders.vector_choices import Names, vector_choices


class OrderedWork(NamedTuple):
    """An order of the loops on a tile, with the cycles of an element that only works on tiles.

    `order`: None for that of `GridMapspace.row_order`; `alone`: None where no plan says them.
    """

    order: LoopOrder | None
    alone: BodyCycles | None

    @property
    def cycles(self) -> float:
        """The cycles of such an element; inf where no plan says them."""
        return inf if self.alone is None else self.alone.total


ANY_ORDER = OrderedWork(None, None)
"""Where no order has a plan."""


@dataclass(frozen=True, slots=True)
class TileOrders:
    """Finds the best orders for the mappings of a family.

    `quick`: bounds of its mapspace; `plan_of`: the plan of a choice, raises InfeasibleMapping or
    ProgramError if it has none. `by_energy`: whether energy counts, of which an operation over
    fewer loops takes more, since the register takes more values.
    """

    quick: QuickBound
    plan_of: Callable[[GridChoice], Plan]
    by_energy: bool

    @property
    def _space(self) -> GridMapspace:
        return self.quick.space

    def best(self, choice: GridChoice) -> tuple[OrderedWork, ...]:
        """Return the orders of a choice's loops that none beats; its own order does not count.

        One with the fewest cycles; if energy counts, one for each number of the register's values
        that takes fewer cycles than all with fewer values.
        """
        found: list[tuple[int, OrderedWork]] = []
        least = inf
        for vector in self._vectors(choice):
            if self._least(choice, vector) >= least - ROUNDING:
                continue
            for work in self._with_vector(choice, vector):
                if work.cycles < least - ROUNDING:
                    least, length = work.cycles, self._length(choice, vector)
                    fewer = (each for each in found if each[0] > length and self.by_energy)
                    found = [*fewer, (length, work)]
        return tuple(work for _, work in found) or (ANY_ORDER,)

    def _vectors(self, choice: GridChoice) -> list[Names]:
        """Return the loops that operations may run over, those with the longest ones first."""
        several = [name for name, size in self._tile(choice).items() if size > 1]
        vectors = vector_choices(self._space, choice.family.scalar, several)
        return sorted(vectors, key=lambda vector: -self._length(choice, vector))

    def _length(self, choice: GridChoice, vector: Names) -> int:
        """Return the points of an operation for a value of the register; 1 without a register."""
        if choice.family.scalar is None:
            return 1
        tile = self._tile(choice)
        return prod(tile[name] for name in vector)

    def _tile(self, choice: GridChoice) -> dict[str, int]:
        family = choice.family
        return {**local_sizes(self._space.einsum, family.shares), **tile_sizes(family)}

    def _least(self, choice: GridChoice, vector: Names) -> float:
        """Return cycles that no order with an operation over these loops goes below."""
        return self.quick.alone_cycles(choice.family, vector)

    def _with_vector(self, choice: GridChoice, vector: Names) -> Iterator[OrderedWork]:
        """Yield the best order with an operation over some loops; nothing if none has a plan."""
        order = self._begun(choice, vector)
        plan = self._planned(choice, order)
        if plan is None:
            return
        outer = best_outer_loops(plan.kernel, self.quick.profile).loops
        if outer != plan.kernel.outer:
            better = ordered_loops(plan.kernel, outer)
            other = self._planned(choice, better)
            order, plan = (order, plan) if other is None else (better, other)
        with suppress(InfeasibleMapping, ProgramError):
            yield OrderedWork(order, alone_cycles(plan, self.quick.profile))

    def _planned(self, choice: GridChoice, order: LoopOrder | None) -> Plan | None:
        """Return the plan of a choice with an order of its loops, None if it has none."""
        with suppress(InfeasibleMapping, ProgramError):
            return self.plan_of(replace(choice, order=order))
        return None

    def _begun(self, choice: GridChoice, vector: Names) -> LoopOrder | None:
        """Return an order with an operation over these loops; None for that of the rows."""
        tile, scalar = self._tile(choice), choice.family.scalar
        rows = self._space.row_order(choice.family, tile)
        if scalar is not None:
            names = [name for name in (*rows.below, *rows.above) if name not in vector]
            above = [name for name in self._space.by_output if name in names]
            above.sort(key=lambda name: name not in rows.above)
            return None if vector == rows.below else LoopOrder((*above,), vector)
        kept = self._space.einsum.outputs[0].rank_variables
        plain = [name for name in rows.above if name in kept and name not in vector]
        summed = [name for name in rows.above if name not in kept]
        order = LoopOrder((*plain, *vector, *summed))
        return None if order == rows else order


def ordered_loops(kernel: ElementKernel, outer: tuple[int, ...]) -> LoopOrder:
    """Return the loops on a tile with those around the vector operation in another order.

    `outer`: their numbers. Without a register the loops of the operation stand below the last of
    them that is over a variable of the output.
    """
    read = kernel.read
    names = tuple(read.time[number].variable for number in outer)
    vector = tuple(read.time[number].variable for number in kernel.vector)
    if read.scalar is not None:
        return LoopOrder(names, vector)
    plain = [place for place, name in enumerate(names) if not read.is_reduced(name)]
    begin = plain[-1] + 1 if plain else 0
    return LoopOrder((*names[:begin], *vector, *names[begin:]))
