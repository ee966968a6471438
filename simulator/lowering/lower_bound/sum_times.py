"""When elements are done with the sums and results of an output tile, turn after turn.

An element begins when it has its own tile. It ends behind those before it in a chain, whose sums it
adds, and behind those after it, which take its words (theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.partial_sums import PartialSums
from tilewright.mapper.grid.reductions import Axis
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.sums.sum_chains import (
    SumCycles,
    link_cycles,
    operation_cycles,
    word_cycles,
)
from tilewright.simulator.lowering.sums.sum_operations import passed_parts
from tilewright.simulator.profiles.profile import Profile

Cycles = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Places = tuple[Numbers, Numbers]
"""Rows and columns of the elements that stand at one place of their chains."""


class _Link(NamedTuple):
    """A link of many like chains: the elements that send a sum, and those that add theirs to it.

    `hops`: links between them. `begins`: whether the senders send in an operation of its own, not
    in the one that adds what they received.
    """

    sender: Places
    receiver: Places
    hops: int
    begins: bool


class _Wait(NamedTuple):
    """A word for which a sender waits: its last one goes `later` cycles behind the word that is
    `before` words before it, which the receivers of a link take."""

    link: int
    before: int
    later: int


@dataclass(frozen=True, eq=False)
class SumTimes:
    """Follow the sums and results of a plan's output tiles, but for sums that go in a ring."""

    plan: Plan
    profile: Profile

    def ends(self, begun: Cycles) -> Cycles:
        """Return when elements are done with a tile, at the earliest: (rows, columns).

        `begun`: when they can begin to send it, or to add what comes.
        """
        done, sums = begun.copy(), self.plan.sums
        starts = [self._add(done, link) for link in self._links]
        for link, waits in zip(self._links, self._waits, strict=True):
            for wait in waits:
                self._wait(done, link.sender, starts[wait.link], wait)
        if sums.group == 1:
            done += self._operation.send
        elif sums.narrows:
            done[np.ix_(*self._heads)] += self._operation.send
        if sums.shared:
            return self._shared(done)
        if sums.exit == "gather":
            self._gather(done)
        return done

    def left(self, done: Cycles) -> float:
        """Return when the last result has left the grid; 0 if results stay.

        `done`: when elements are done with their last tiles.
        """
        rows, columns = self._heads
        if self.plan.sums.exit == "none":
            return 0.0
        at_border = rows if self.plan.sums.exit == "east" else rows[-1:]
        profile = self.profile
        sent = float(done[np.ix_(at_border, columns)].max()) - ceil(profile.cycles_per_wavelet)
        return sent + profile.dispatch_to_link_cycles + profile.hop_cycles

    @cached_property
    def _operation(self) -> SumCycles:
        return SumCycles.of(self.plan.read, self.profile)

    @cached_property
    def _words(self) -> int:
        return self.plan.read.words(self.plan.read.output)

    @cached_property
    def _launch(self) -> int:
        return operation_cycles(0, self.profile)

    @cached_property
    def _heads(self) -> tuple[Numbers, Numbers]:
        """Rows and columns of the elements in which sums end."""
        sums, read = self.plan.sums, self.plan.read
        return np.array(sums.head_rows(read.rows)), np.array(sums.head_columns(read.columns))

    # -- chains ----------------------------------------------------------------------------

    def _add(self, done: Cycles, link: _Link) -> Cycles:
        """Follow the words over a link; return when its receivers can take the first one."""
        operation = self._operation
        if link.begins:
            done[link.sender] += operation.send
        starts: Cycles = done[link.receiver] + self._launch
        arrived = done[link.sender] + link_cycles(link.hops, self.profile)
        done[link.receiver] = np.maximum(done[link.receiver] + operation.add, arrived)
        return starts

    def _wait(self, done: Cycles, sender: Places, starts: Cycles, wait: _Wait) -> None:
        """Let senders end behind a word that others take after their start."""
        taken = starts + word_cycles(self._words - 1 - wait.before, self.profile)
        done[sender] = np.maximum(done[sender], taken + wait.later)

    @cached_property
    def _links(self) -> list[_Link]:
        """The links of all chains, in the order in which elements add."""
        read = self.plan.read
        received, links = np.zeros((read.rows, read.columns), dtype=bool), []
        for link, stores in _chain_links(self.plan.sums, read.rows, read.columns):
            begins = link.begins and (stores or not received[link.sender].all())
            received[link.receiver] = True
            links.append(link._replace(begins=begins))
        return links

    @cached_property
    def _waits(self) -> list[list[_Wait]]:
        """For what the senders of each link wait: all whose words buffers do not hold.

        Elements that send on what they add take a word when there is space for it further on.
        """
        onward: dict[bytes, list[_Wait]] = {}
        waits: list[list[_Wait]] = []
        for number, link in reversed(list(enumerate(self._links))):
            before, later = self._held(link.hops), link.hops + 3
            further = onward.pop(_key(link.receiver), [])  # of the last sum that they add
            of_link = [_Wait(number, before, later + 1)]
            of_link += [_Wait(w.link, w.before + before, w.later + later) for w in further]
            waits.append([wait for wait in of_link if wait.before < self._words])
            if not link.begins:
                onward[_key(link.sender)] = waits[-1]
        return waits[::-1]

    def _held(self, hops: int) -> int:
        """Return how many words the buffers between two operations hold at most."""
        profile = self.profile
        sending = profile.dispatch_to_link_cycles - profile.hop_cycles
        queues = max(profile.output_queue_words) + sending - 1
        queues += max(profile.input_queue_words) + profile.arrival_to_execute_cycles - 1
        return queues + (hops + 1) * (profile.router_buffer_words + profile.hop_cycles - 1)

    # -- results ---------------------------------------------------------------------------

    def _shared(self, done: Cycles) -> Cycles:
        """Return when elements have the finished tile, which the last one of their group sends."""
        rows, columns = np.ogrid[: done.shape[0], : done.shape[1]]
        tall, wide = self.plan.sums.group_rows, self.plan.sums.group_columns
        last_row, last_column = rows // tall * tall + tall - 1, columns // wide * wide + wide - 1
        links = last_row - rows + last_column - columns
        sent = done[last_row, last_column] + self._operation.send
        arrived = sent + link_cycles(links, self.profile)
        received = np.maximum(done + operation_cycles(self._words, self.profile), arrived)
        ends: Cycles = np.where(links == 0, sent, received)
        return ends

    def _gather(self, done: Cycles) -> None:
        """Follow the results down the columns: each element passes on those of all before it."""
        heads, hops = np.ix_(*self._heads), self.plan.sums.group_rows
        launched, words = self._passed
        own = done[heads]
        later = np.arange(len(own))[:, None] * link_cycles(hops, self.profile)
        passed = own + launched + word_cycles(words, self.profile)
        ends = np.maximum.accumulate(passed - later, axis=0) + later
        taken = words[1:] - 1 - self._held(hops)
        sent = own[1:] + self._launch + word_cycles(np.maximum(taken, 0), self.profile) + hops + 4
        ends[:-1] = np.maximum(ends[:-1], np.where(taken >= 0, sent, 0.0))
        done[heads] = ends

    @cached_property
    def _passed(self) -> tuple[Numbers, Numbers]:
        """Cycles of launches, and words, of what the elements of a column pass on: columns."""
        number, values = len(self._heads[0]), self.plan.read.output.values
        launches = [self._launch * len(passed_parts(values, passed)) for passed in range(number)]
        return np.array(launches)[:, None], np.arange(number)[:, None] * self._words


def _key(places: Places) -> bytes:
    return b"".join(part.tobytes() for part in places)


def _chain_links(sums: PartialSums, rows: int, columns: int) -> Iterator[tuple[_Link, bool]]:
    """Yield the links of chains on a grid, and whether their first element stores its sum.

    They begin where they are the first one of their chains.
    """
    if sums.snake is not None:
        groups = np.mgrid[0 : rows : sums.group_rows, 0 : columns : sums.group_columns]
        firsts = groups.reshape(2, -1)
        way = [(firsts[0] + row, firsts[1] + column) for row, column in sums.snake.way()]
        for number, (sender, receiver) in enumerate(pairwise(way)):
            yield _Link(sender, receiver, 1, begins=number == 0), False
    for phase in (phase for axis in sums.axes for phase in sums.along(axis)):
        lines = np.array(phase.lines)
        for chain in phase.chains:
            for number, (before, after) in enumerate(pairwise(chain.positions)):
                sender, receiver = (_at(phase.axis, lines, place) for place in (before, after))
                begins = number == 0
                yield _Link(sender, receiver, after - before, begins), chain.stores and begins


def _at(axis: Axis, lines: Numbers, place: int) -> Places:
    """Return the elements at a place of some lines along an axis."""
    places = np.full_like(lines, place)
    return (lines, places) if axis == "X" else (places, lines)
