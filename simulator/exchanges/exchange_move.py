"""A move of a tensor between elements in a search: from where it stays to where an Einsum needs it.

A move has a lower bound from the distributions alone, and its value once it has been executed
(theory/grid.md §8 to §10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import ceil
from typing import Final, NamedTuple

import numpy as np

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.exchanges.flow_phases import flow_phases
from tilewright.mapper.grid.exchanges.halo import HaloExchange, halo_exchange
from tilewright.mapper.grid.exchanges.least_traffic import least_traffic
from tilewright.mapper.grid.exchanges.reshard import MOST_FLOWS, Reshard, is_too_large
from tilewright.mapper.grid.number_types import values_per_wavelet
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.exchanges.exchange_bound import least_exchange_cycles, phases_bound
from tilewright.simulator.exchanges.exchange_execution import (
    exchanges_of,
    predicted_exchange,
    time_exchange,
)
from tilewright.simulator.exchanges.reshard_program import limits_of
from tilewright.simulator.execution.action_counts import action_energies
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.lower_bound.cycle_bound import ROUNDING
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.grid_certificate import NO_COSTS, UNPAYABLE, Costs

MOST_PLACES: Final = 1 << 14
"""Elements of all places of a tensor for which the least traffic is found at once."""


class LeastExchange(NamedTuple):
    """Lower bounds of an exchange: its cycles, the words that all elements receive, its flows."""

    cycles: float
    received: int
    flows: int


@dataclass(eq=False)
class Move:
    """A tensor that stays in one distribution and is needed in another, with its cost.

    `tensor`: its name; `held`, `needed`: which part each element has, and needs. `candidates`:
    mappings of the Einsum that needs it, and `read`, one of them. `costs`: of the exchange,
    `UNPAYABLE` before it was executed; `bounds`: lower bounds of them, of the energy only where it
    counts. `is_there`: whether nothing has to move. `exchange`: the
    one that has been found, None before. `alike`: a move of another tensor between the same
    distributions on the same machine, of values as wide; None if there is none.
    """

    tensor: str
    held: Distribution
    needed: Distribution
    candidates: Candidates
    read: SpaceTime
    costs: Costs = UNPAYABLE
    is_there: bool = field(init=False)
    is_executed: bool = False
    exchange: HaloExchange | Reshard | None = None
    alike: Move | None = None
    _least: LeastExchange | None = None

    def __post_init__(self) -> None:
        self.is_there = self.is_executed = self.held.serves(self.needed)
        if self.is_there:
            self.bounds = self.costs = NO_COSTS
        elif is_too_large(self.held, self.needed) and self.is_reshard:
            self.bounds, self.is_executed = UNPAYABLE, True

    @cached_property
    def bounds(self) -> Costs:
        """Lower bounds of what an exchange costs; UNPAYABLE if there is none."""
        return _bounds(self)

    @property
    def bound(self) -> float:
        """A value of the objective that no exchange goes below; inf if there is no exchange."""
        return self.bounds.value(self.candidates.objective)

    @property
    def value(self) -> float:
        """Objective value of the exchange, inf before it was executed."""
        return self.costs.value(self.candidates.objective)

    @property
    def dtype(self) -> str:
        """Number type of the values."""
        return self.read.dtype_of(self.tensor)

    @property
    def least(self) -> LeastExchange:
        """What no exchange goes below."""
        if (self.alike or self)._least is None:
            find_least([self])
        least = (self.alike or self)._least
        assert least is not None
        return least

    @property
    def lacks_bound(self) -> bool:
        """Whether the bounds have not been asked for yet."""
        return "bounds" not in vars(self)

    @cached_property
    def is_reshard(self) -> bool:
        """Whether words move between elements that are not neighbours, or not as a halo."""
        return not self.is_there and halo_exchange(self.tensor, self.held, self.needed) is None

    def find(self) -> bool:
        """Find the exchange, which may raise the bound; return False if that was done before."""
        if self.is_executed or self.exchange is not None:
            return False
        self.exchange = next(exchanges_of(self.tensor, self.held, self.needed), None)
        if self.exchange is None:
            self.is_executed, self.bounds = True, UNPAYABLE
        elif isinstance(self.exchange, Reshard):
            self.bounds = self.bounds.at_least(self._bounds_of(self.exchange))
        return True

    def _bounds_of(self, exchange: Reshard) -> Costs:
        candidates, profile = self.candidates, self.candidates.quick.profile
        phases, energy = flow_phases(exchange, limits_of(profile)), 0.0
        if phases is None:
            return UNPAYABLE
        if candidates.has_energy:
            counts = predicted_exchange(exchange, self.read)
            energy = sum(action_energies(self.read, counts).values())
        return candidates.costs_of(phases_bound(exchange, phases, self.dtype, profile), energy)

    def execute(self) -> bool:
        """Run the exchange without values, so that its cost is known; return whether it ran now.

        The bounds are then the costs. The cycles are the same wherever the parts lie: their
        addresses agree modulo the period of the memory banks.
        """
        self.find()
        if self.is_executed:
            return False
        self.is_executed = True
        profile = self.candidates.quick.profile
        offset = self.candidates.kept.offsets[self.tensor]
        for exchange in self._exchanges():
            try:
                done = time_exchange(exchange, self.read, profile, offset)
            except ProgramError:  # as for candidates: the machine lacks a resource
                continue
            if done is not None:
                self.costs = Costs(done.latency, done.energy)
                break
        self.bounds = self.costs
        return self.costs != UNPAYABLE

    def _exchanges(self) -> Iterator[HaloExchange | Reshard]:
        """Yield the exchange that was found, then further ones."""
        assert self.exchange is not None
        yield self.exchange
        yield from islice(exchanges_of(self.tensor, self.held, self.needed), 1, None)


def find_least(moves: Sequence[Move]) -> None:
    """Find `least` of moves of one tensor to one distribution, of all together."""
    moves = [move.alike or move for move in moves]
    needed, dtype, profile = moves[0].needed, moves[0].dtype, moves[0].candidates.quick.profile
    elements = max(place.has.size for move in moves for place in (move.held, needed))
    together = max(1, MOST_PLACES // elements)
    for begin in range(0, len(moves), together):
        some = moves[begin : begin + together]
        traffic = least_traffic([move.held for move in some], needed)
        cycles = least_exchange_cycles(traffic, dtype, profile).tolist()
        received = traffic.received.sum(axis=(1, 2)) / values_per_wavelet(2, dtype)
        words, flows = np.ceil(received).tolist(), (traffic.all_flows - ROUNDING).tolist()
        for move, least, all_words, all_flows in zip(some, cycles, words, flows, strict=True):
            move._least = LeastExchange(least, int(all_words), ceil(all_flows))


def _bounds(move: Move) -> Costs:
    """Return lower bounds of what an exchange costs, from what each element lacks.

    Each word that an element lacks crosses a link and is written. UNPAYABLE for a reshard of too
    many flows.
    """
    candidates, energy = move.candidates, 0.0
    cycles, received, flows = move.least
    if flows > MOST_FLOWS and move.is_reshard:
        return UNPAYABLE
    if candidates.has_energy:
        grid = candidates.space.grid
        fabric = grid.fabric.name if grid.fabric is not None else "fabric"
        written = int(np.prod(move.needed.has.shape)) * move.needed.values
        counts = {
            f"move/{fabric}/None/hop": received,
            f"move/{grid.memory.name}/{move.tensor}/write": written,
        }
        energy = sum(action_energies(move.read, counts).values())
        energy *= candidates.space.einsum.n_instances
    return candidates.costs_of(cycles, energy)
