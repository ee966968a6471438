"""Exact cycles of a grid whose columns do the same, each a hop later, from its first columns.

The fast engine finds the times of some columns alone. Where those of the last three are equal but
for a hop from each to the next, all further columns go on so (theory/engines.md §17). Where words
cross between neighbours, groups of columns take the place of columns: each does the same as many
hops later as it has columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import ROUTER
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import USUAL, effort_before, solve_parts
from tilewright.simulator.fast.proofs.certificate import units_of
from tilewright.simulator.fast.times.segments import T
from tilewright.simulator.fast.times.timed_program import TimedProgram, main_ends, timed_exits
from tilewright.simulator.fast.units.graph import THREAD, X_COMPLETION
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.transposed import transposed
from tilewright.simulator.quotient.line_blocks import Ints
from tilewright.simulator.quotient.passing_streams import NOTHING, PassingStreams, passing_streams
from tilewright.simulator.quotient.small_times import matching, unit_places
from tilewright.simulator.run.machine import Machine

ATTEMPTS: Final = (5, 9)
"""Columns that are solved; the first ones, in which words come early, may do otherwise."""
COMPARED: Final = 3
"""Groups that must do the same."""
FEWEST: Final = 4
"""Groups that are solved at least: the first one begins otherwise."""
LARGEST_SHARE: Final = 2
"""More than half of the columns save little."""
MORE: Final = 4
"""Times the effort before a run of these columns: they stand for many."""
_CONTENDED: Final = IdentityCache(64)
"""FIFOs whose links were contended in the last program, by the kinds of FIFOs of its topology.

The next program of it mostly needs the arbiter there, too, which is right wherever it is asked.
"""
NOT_SHIFTED: Final = "columns do not do the same a hop later"
TOO_FEW: Final = "too few columns"


class UnsolvedColumns(Exception):  # noqa: N818 - an outcome
    """The fast engine finds no times of some columns: it is not asked for those of the grid."""


def shifted_cycles(program: Program, profile: Profile, least: int | None = None) -> int | None:
    """Return the exact cycles of a program whose columns, or rows, do the same, each a hop later.

    They are those of `Machine.run` on any data; None if they do not follow. `least`: cycles that it
    takes at least, by which the effort is chosen; None for any effort. Raises UnsolvedColumns where
    the times of some columns are not found.
    """
    with suppress(NotCovered):
        return cycles_by_shift(program, profile, least)
    with suppress(NotCovered, ValueError):
        return cycles_by_shift(transposed(program), profile, least)
    return None


def cycles_by_shift(program: Program, profile: Profile, least: int | None = None) -> int:
    """Return the exact cycles of a program whose columns do the same, each a hop later.

    They are those of `Machine.run` on any data. least: as of `shifted_cycles`. Raises NotCovered,
    with the reason, if they do not follow; UnsolvedColumns as `shifted_cycles`.
    """
    streams = _grouped_streams(program)
    for count in _attempts(program.width, streams.first):
        columns = SolvedColumns.of(streams, count, profile, least)
        if columns.are_shifted():
            return columns.cycles(program.width)
    raise NotCovered(NOT_SHIFTED)


def _group_widths(width: int) -> Iterator[int]:
    """Yield how many columns a group may have, ascending: few groups are few of all columns."""
    yield from (n for n in range(1, width // 2) if width % n == 0 and _attempts(width, n))


def _attempts(width: int, group: int) -> list[int]:
    """Return the numbers of columns that are solved: whole groups, few of all columns."""
    counts = dict.fromkeys(group * max(FEWEST, -(-count // group)) for count in ATTEMPTS)
    return [count for count in counts if count * LARGEST_SHARE <= width]


def _grouped_streams(program: Program) -> PassingStreams:
    """Return the streams that pass behind the first group of columns, of the smallest groups.

    Raises NotCovered if there are no groups that all do the same.
    """
    reason = TOO_FEW
    for group in _group_widths(program.width):
        try:
            streams = passing_streams(program, group, group)
            _check_alike(streams)
        except NotCovered as missing:
            reason = missing.reason
        else:
            return streams
    raise NotCovered(reason)


def _check_alike(streams: PassingStreams) -> None:
    """Check that all groups but the first do the same, and take the same words."""
    first = streams.first
    column = np.arange(first, streams.program.width)
    twin = first + column % first
    for stream in streams.streams:
        filters = stream.filters[:, column]
        if (filters != stream.filters[:, twin]).any() or (filters == NOTHING).all(axis=2).any():
            raise NotCovered("columns take other words of a stream")
    if (streams.alike[column] != streams.alike[twin]).any():
        raise NotCovered("columns do not do the same")


@dataclass(frozen=True, slots=True)
class SolvedColumns:
    """The first columns of a grid, alone on a machine, with the times of all their units.

    The columns of a group are as many as `streams.first`.
    """

    streams: PassingStreams
    machine: Machine
    timed: TimedProgram

    @staticmethod
    def of(
        streams: PassingStreams, count: int, profile: Profile, least: int | None = None
    ) -> SolvedColumns:
        """Solve so many columns. Raises NotCovered, or UnsolvedColumns without a certificate."""
        try:
            machine = Machine(streams.narrow(np.arange(count)), profile)
        except ProgramError as error:
            raise NotCovered("some columns alone do not fit the machine") from error
        visits = None if least is None else least * machine.program.placement.size
        effort = USUAL if visits is None else effort_before(MORE * visits)
        contended: list[Ints] = _CONTENDED.of(machine.compiled.network.kind, "contended", list)
        known = contended[0] if contended else None
        timed, division = solve_parts(machine, contending=known, effort=effort)
        if timed is None or not division.whole:
            raise UnsolvedColumns(division.reason)
        columns = SolvedColumns(streams, machine, timed)
        columns._check_arbiters()
        contended[:] = [np.flatnonzero(division.contended)]
        return columns

    def cycles(self, width: int) -> int:
        """Return the cycles of a grid of so many columns, if the last three groups are shifted."""
        ends = [self._element_ends(), self._arrivals()]
        last = max(int(cycles[:, -self.group :].max(initial=0)) for cycles in ends)
        later = self.shift * (width - self.machine.program.width) // self.group
        return max(last + later, *(int(cycles.max(initial=0)) for cycles in ends))

    @property
    def group(self) -> int:
        """Columns of a group."""
        return self.streams.first

    @property
    def shift(self) -> int:
        """Cycles from a group to the next one; 0 if no words cross."""
        return self.machine.profile.hop_cycles * self.group if self.streams.streams else 0

    def _check_arbiters(self) -> None:
        """Check that no arbiter decides where streams pass, and no main thread has spans."""
        network, names = self.timed.network, {s.color for s in self.streams.streams}
        passing = [color.id for color in self.machine.program.colors if color.name in names]
        contended = self.timed.division.contended & (network.kind == ROUTER)
        if np.isin(network.fifo[contended, at.F_COLOR], passing).any():
            raise NotCovered("two passing streams want a link at once")
        if self.timed.graph.span.size:
            raise NotCovered("microthreads run beside the main thread")

    def are_shifted(self) -> bool:
        """Return whether the last three groups do the same, each a hop per column later.

        The first operation of an element may be dispatched at the same cycle in all of them.
        """
        places = unit_places(self.timed, self.machine.program)
        of_group, places[:, 1] = np.divmod(places[:, 1], self.group)
        last = self.machine.program.width // self.group
        units = [np.flatnonzero(of_group == number) for number in range(last - COMPARED, last)]
        if len({numbers.size for numbers in units}) > 1:
            return False
        lines = [places[numbers] for numbers in units]
        matched = [
            (units[n][matching(lines[n], lines[n + 1])], units[n + 1])
            for n in range(len(units) - 1)
        ]
        return self._ends_are_shifted() and all(
            self._are_shifted(before, after, places) for before, after in matched
        )

    def _are_shifted(self, units: Ints, later: Ints, places: Ints) -> bool:
        """Return whether units do the same as others, a shift later. places: of all units."""
        times, shift = self.timed.times, self.shift
        dispatched = times.start[later] - times.start[units]
        messages = places[units, 2] != THREAD
        is_first = messages | (places[units, 3] == 0)
        lists = [(times.segment, times.pieces)]
        if times.ready.size:
            lists.append((times.ready, times.arrived))
        return bool(
            ((dispatched == shift) | (is_first & (dispatched == 0))).all()
            and (times.last[later] - times.last[units] == shift).all()
            and all(_are_later(segments, n, (units, later), shift) for segments, n in lists)
        )

    def _ends_are_shifted(self) -> bool:
        """Return whether elements with queues end a shift later in each of the last groups.

        Others end in all groups at the same cycle.
        """
        shape = self.machine.program.placement.shape
        moves = np.zeros(shape, dtype=bool)
        for number, script in enumerate(self.timed.scripts):
            moves.ravel()[self.timed.layout.elements[number]] = script.size > 0
        ends = self._element_ends()[:, -COMPARED * self.group :]
        later = ends[:, self.group :] - ends[:, : -self.group]
        moves = moves[:, -later.shape[1] :]
        return bool((later == np.where(moves, self.shift, 0)).all())

    def _element_ends(self) -> Ints:
        """Return (rows, columns) the cycles at which elements have ended."""
        timed = self.timed
        ends = np.zeros(self.machine.program.placement.shape, dtype=np.int64)
        complete = max(1, int(timed.times.header[X_COMPLETION]))
        execute = int(self.machine.compiled.tables.header[at.K_EXECUTE])
        for number, script in enumerate(timed.scripts):
            elements = timed.layout.elements[number]
            of_code = np.zeros(elements.size, dtype=np.int64)
            if script.tasks:
                of_code = main_ends(timed.layout, timed.times, number, script) + execute
            for operation in range(script.size):
                last = timed.times.last[units_of(timed.layout, number, script, operation)]
                of_code = np.maximum(of_code, last + complete)
            ends.ravel()[elements] = of_code
        return ends

    def _arrivals(self) -> Ints:
        """Return (ports, columns) the last arrivals at the borders, 0 where there is no port.

        What passes to the east does not count: behind the last column nothing takes it.
        """
        network, program = self.timed.network, self.machine.program
        ports = len(program.edge_outputs) - self._exits
        result = np.zeros((ports, program.width), dtype=np.int64)
        for number, sinks in enumerate(network.edge_outputs[:ports]):
            columns = network.element[sinks] % program.width
            np.maximum.at(result[number], columns, timed_exits(self.timed, sinks))
        return result

    @property
    def _exits(self) -> int:
        """The number of ports by which streams leave the columns; they are the last ones."""
        return sum(1 for stream in self.streams.streams for _ in self.streams.exits(stream))


def _are_later(segments: Ints, counts: Ints, units: tuple[Ints, Ints], shift: int) -> bool:
    """Return whether lists of times of units are those of others, a shift later."""
    before, after = units
    if not np.array_equal(counts[before], counts[after]):
        return False
    most = int(counts[before].max(initial=0))
    is_used = np.arange(most) < counts[before, None]
    difference = segments[after, :most] - segments[before, :most]
    difference[:, :, T] -= shift
    return not difference[is_used].any()
