"""Streams of a program that share a color, where a machine has fewer colors than the program.

Each stream has a color of its own where that is possible. Otherwise streams that have no router in
common share one: the interference graph of the streams is colored (theory/grid.md §4).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.exchanges.color_use import ColorUse
from tilewright.simulator.check.validate import check_program
from tilewright.simulator.compile.families.code_families import canonical_code
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import PORTS, Color, Route

Bools = npt.NDArray[np.bool_]
MOST_STEPS: Final = 1 << 12
"""Of a search for an assignment, after which there counts as none; those found took 100 at most."""


@dataclass(frozen=True, slots=True)
class _Stream:
    """The words of one color of a program.

    `at`: (rows, columns) of kinds of routers, whether they are on its way; `routers`: the same, a
    bit each; `links`: likewise, for each port by which words come and each by which they go.
    `switched`: whether a router has a switch for it.
    """

    name: str
    at: Bools
    routers: int
    links: int
    switched: bool


def _bits(flags: Bools) -> int:
    return int.from_bytes(np.packbits(flags).tobytes(), "big")


@dataclass(frozen=True, slots=True)
class _Lines:
    """The rows or columns of a grid, by what is in them.

    `inside`: (areas, kinds) whether lines of a kind are in an area; `first`: a line of each kind.
    """

    inside: Bools
    first: Sequence[int]

    @staticmethod
    def of(number: int, areas: Sequence[range]) -> _Lines:
        """Return the kinds of so many lines; areas: the lines in each."""
        inside = np.zeros((len(areas), number), dtype=bool)
        for area, lines in enumerate(areas):
            inside[area, lines.start : lines.stop : lines.step] = True
        kinds, first = np.unique(inside, axis=1, return_index=True)
        return _Lines(kinds, first.tolist())


@dataclass(frozen=True, slots=True)
class _Streams:
    """The streams of a program, on the kinds of its rows and columns.

    Routers whose rows are of one kind, and so their columns, lie in the same areas.
    """

    streams: tuple[_Stream, ...]
    rows: _Lines
    columns: _Lines

    @staticmethod
    def of(program: Program) -> _Streams:
        """Return the streams of a program, by the numbers of their colors."""
        rows = _Lines.of(program.height, [route.area.rows for route in program.routes])
        columns = _Lines.of(program.width, [route.area.columns for route in program.routes])
        by_color: dict[str, list[tuple[Route, Bools]]] = {
            color.name: [] for color in program.colors
        }
        for number, route in enumerate(program.routes):
            area = np.outer(rows.inside[number], columns.inside[number])
            by_color[route.color].append((route, area))
        names = [color.name for color in sorted(program.colors, key=lambda color: color.id)]
        shape = rows.inside.shape[1], columns.inside.shape[1]
        return _Streams(
            tuple(_stream(name, by_color[name], shape) for name in names), rows, columns
        )

    def most_at(self) -> tuple[int, tuple[int, int]]:
        """Return the most streams of a router, and the (row, column) of one that has so many."""
        number = np.sum([stream.at for stream in self.streams], axis=0)
        row, column = divmod(int(np.argmax(number)), number.shape[1])
        return int(number.max()), (self.rows.first[row], self.columns.first[column])


def _stream(name: str, routes: Sequence[tuple[Route, Bools]], shape: tuple[int, int]) -> _Stream:
    """Return the stream of some routes, each with the kinds of routers in its area."""
    at = np.zeros(shape, dtype=bool)
    links = np.zeros((2 * len(PORTS), *shape), dtype=bool)
    for route, area in routes:
        at |= area
        for position in route.directions():
            comes = [PORTS.index(port) for port in position.rx or ()]
            goes = [len(PORTS) + PORTS.index(port) for port in position.tx or ()]
            links[comes + goes] |= area
    switched = any(route.switch is not None for route, _ in routes)
    return _Stream(name, at, _bits(at), _bits(links), switched)


def shared_colors(program: Program, profile: Profile) -> Program:
    """Return a lowered program with the colors of a machine.

    It is the same one if the machine has as many colors as streams; otherwise streams that have no
    router in common share one. Of two streams on a link the first one has the lower color still,
    unless only another order is an assignment: then the arbiter may let the other one go first.
    Raises ProgramError if there is no assignment.
    """
    if _fits(program, profile):
        return program
    streams = _Streams.of(program)
    numbers = _assigned(streams.streams, profile.colors, profile.switchable_colors)
    if numbers is None:
        raise _too_many(streams, profile)
    return _with_colors(program, streams.streams, numbers)


def _fits(program: Program, profile: Profile) -> bool:
    """Return whether a machine has the colors of a program, and the switches for them."""
    switched = {route.color for route in program.routes if route.switch is not None}
    return all(
        color.id < profile.colors
        and (color.name not in switched or color.id in profile.switchable_colors)
        for color in program.colors
    )


def _assigned(
    streams: Sequence[_Stream], colors: int, switchable: Container[int]
) -> tuple[int, ...] | None:
    """Return the number of each stream's color, the order kept on links if possible; None if none.

    `switchable`: numbers of colors that may have switches.
    """
    plain, ordered = (_Assignment(streams, colors, switchable, o) for o in (False, True))
    if not plain.goes_on():
        return None
    return tuple((ordered if ordered.goes_on() else plain).numbers)


@dataclass(slots=True)
class _Assignment:
    """A search for the colors of streams, one after the other, the lowest first.

    `ordered`: whether a stream must have a higher color than those before it on one of its links.
    `numbers`: of the colors that the first streams have; `steps`: how often one got a color.
    """

    streams: Sequence[_Stream]
    colors: int
    switchable: Container[int]
    ordered: bool
    numbers: list[int] = field(default_factory=list)
    use: ColorUse = field(default_factory=ColorUse)
    steps: int = 0

    def goes_on(self) -> bool:
        """Give colors to the streams that have none; return whether there was one for each."""
        if len(self.numbers) == len(self.streams):
            return True
        routers = self.streams[len(self.numbers)].routers
        for color in sorted(self._candidates()):
            self.steps += 1
            if self.steps > MOST_STEPS:
                return False
            self.numbers.append(color)
            self.use.add(color, routers)
            if self.goes_on():
                return True
            self.use.remove(color, routers)
            self.numbers.pop()
        return False

    def _candidates(self) -> Iterator[int]:
        """Yield the colors that the next stream may have.

        Of those in no use that differ by nothing the first one suffices.
        """
        stream, lowest = self.streams[len(self.numbers)], 0
        if self.ordered:
            before = zip(self.numbers, self.streams, strict=False)
            lowest = max((n + 1 for n, s in before if s.links & stream.links), default=0)
        fitting = [c for c in range(lowest, self.colors) if c not in self.use.taken]
        if not self.ordered:
            fitting = list({c in self.switchable: c for c in reversed(fitting)}.values())
        fitting += self.use.free_for(stream.routers)
        for color in fitting:
            if color >= lowest and (color in self.switchable or not stream.switched):
                yield color


def _too_many(streams: _Streams, profile: Profile) -> ProgramError:
    """Return the error of a program whose streams need more colors than a machine has."""
    most, place = streams.most_at()
    have, number = profile.colors, len(streams.streams)
    needed = next(
        n
        for n in range(max(most, have), number + have + 1)
        if _assigned(streams.streams, n, {*profile.switchable_colors, *range(have, n)})
    )
    return ProgramError(
        f"streams that meet at routers need more colors than {profile.name} has",
        value=f"{needed} colors for {number} streams, {most} of them at the router of {place}",
        instead=f"a mapping with fewer streams, or a machine with more than {have} colors",
    )


def _with_colors(program: Program, streams: Sequence[_Stream], numbers: Sequence[int]) -> Program:
    """Return a program whose streams have the colors of some numbers."""
    shared: dict[int, list[str]] = {}
    for stream, number in zip(streams, numbers, strict=True):
        shared.setdefault(number, []).append(stream.name)
    joined = {number: "+".join(names) for number, names in sorted(shared.items())}
    of = {s.name: joined[number] for s, number in zip(streams, numbers, strict=True)}
    result = replace(
        program,
        codes=tuple(_renamed(code, of) for code in program.codes),
        colors=tuple(Color(name, number) for number, name in joined.items()),
        routes=tuple(replace(route, color=of[route.color]) for route in program.routes),
        edge_inputs=tuple(replace(port, color=of[port.color]) for port in program.edge_inputs),
        edge_outputs=tuple(replace(port, color=of[port.color]) for port in program.edge_outputs),
    )
    check_program(result)
    return result


def _renamed(code: ElementCode, names: Mapping[str, str]) -> ElementCode:
    """Return a code whose queues have other names of colors; nothing else of it names one."""
    inputs, outputs = (
        tuple(replace(queue, color=names[queue.color]) for queue in queues)
        for queues in (code.input_queues, code.output_queues)
    )
    return canonical_code(replace(code, input_queues=inputs, output_queues=outputs))
