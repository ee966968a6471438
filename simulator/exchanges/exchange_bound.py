"""Lower bounds of the cycles of exchanges between elements (theory/grid.md §10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.exchanges.flow_phases import RoutedFlow
from tilewright.mapper.grid.exchanges.flow_ways import Turns
from tilewright.mapper.grid.exchanges.least_traffic import Floats, LeastTraffic
from tilewright.mapper.grid.exchanges.reshard import Flow, Place, Reshard
from tilewright.mapper.grid.number_types import values_per_wavelet, words_of_values
from tilewright.simulator.compile.code.simd_modes import wavelets
from tilewright.simulator.isa.resolving import resolve
from tilewright.simulator.lowering.lower_bound.cycle_bound import ROUNDING
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles, TaskCycles
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instruction import DsdOperation
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import PORTS, STEP

Words = npt.NDArray[np.int64]
Link = tuple[Place, str]
"""The element that a link leaves, and the port by which it does: R for the ramp to the element."""


def program_bound(program: Program, profile: Profile, flows: Sequence[RoutedFlow] = ()) -> int:
    """Return a number of cycles that no run of a program goes below; each task must run once.

    `flows`: messages that the program carries, with their routes; their ways and links count only
    if they are given. The bound is the greatest of: what an element issues; the way of a flow's
    last word; the words of one link.
    """
    codes = [_CodeCycles.of(code, profile) for code in program.codes]
    longest = max(code.issued for code in codes)
    ways = [_FlowWay.of(routed, program, codes) for routed in flows]
    each = profile.dispatch_to_link_cycles + profile.arrival_to_execute_cycles
    for way in ways:
        for (_, port), links in way.links.items():
            if port == "R":
                longest = max(longest, way.end - 1 + each + links * profile.hop_cycles)
    longest = max(longest, *(_link_cycles(ways, profile) or [0.0]))
    return ceil(longest - ROUNDING)


def phases_bound(
    reshard: Reshard, phases: Sequence[Sequence[RoutedFlow]], dtype: str, profile: Profile
) -> float:
    """Return a number of cycles that the programs of a reshard do not go below together.

    It needs no program. An element issues each word that it sends or receives, and loads two
    descriptors for each flow and for its copy. A link carries one word in a cycle. `dtype`: type of
    the values.
    """
    load = profile.descriptor_load_cycles + profile.descriptor_use_cycles
    issue, cycles = min(1.0, float(profile.cycles_per_wavelet)), 0.0
    behind = (
        profile.dispatch_to_link_cycles + profile.hop_cycles + profile.arrival_to_execute_cycles
    )
    for phase, flows in enumerate(phases):
        issued = np.zeros((reshard.rows, reshard.columns))
        if phase == 0 and reshard.copies:
            issued[_index(reshard.copies)] = load
        words = np.zeros((5, reshard.rows, reshard.columns), dtype=np.int64)
        for routed in flows:
            flow, number = routed.flow, words_of_values(routed.flow.piece.values, dtype)
            busy = _index((flow.source, *flow.targets))
            issued[busy] += load
            issued[busy] += number * issue
            _carry(words, flow, number)
        busiest = int(words.max(initial=0))
        carried = load + busiest - 1 + behind if busiest else 0.0
        cycles += max(carried, float(issued.max(initial=0.0)))
    return cycles


def _index(places: Iterable[Place]) -> tuple[list[int], list[int]]:
    """Return the index of some places in an array (rows, columns)."""
    rows, columns = zip(*places, strict=True)
    return list(rows), list(columns)


def _carry(words: Words, flow: Flow, number: int) -> None:
    """Add the words of a flow to those that cross each link.

    words: (ports N E S W R, rows, columns) by the element that a link leaves, changed; R is the
    ramp to it.
    """
    north, east, south, west, ramp = words
    row, column = flow.source
    east[row, column : max(flow.spans)] += number
    west[row, min(flow.spans) + 1 : column + 1] += number
    for place, (first, last) in flow.spans.items():
        north[first + 1 : row + 1, place] += number
        south[row:last, place] += number
    ramp[_index(flow.targets)] += number


def least_exchange_cycles(traffic: LeastTraffic, dtype: str, profile: Profile) -> Floats:
    """Return numbers of cycles that no exchange goes below: one for each place of the traffic.

    traffic: the least values that elements send and receive, of the type `dtype`.
    """
    load = profile.descriptor_load_cycles + profile.descriptor_use_cycles
    issue, together = min(1.0, float(profile.cycles_per_wavelet)), values_per_wavelet(2, dtype)
    elements = (1, 2)
    received = traffic.received / together
    receives = received * issue + load * (traffic.flows + traffic.copies)
    sends = traffic.sent / together * issue + load * traffic.sends
    issued = np.maximum(receives, traffic.mean(receives) + sends).max(axis=elements)
    behind = (
        profile.dispatch_to_link_cycles + profile.hop_cycles + profile.arrival_to_execute_cycles
    )
    carried = load + np.ceil(received.max(axis=elements)) - 1 + behind
    moves = traffic.received.any(axis=elements)
    least: Floats = np.where(moves, np.maximum(issued, carried), issued)
    return least


@dataclass(frozen=True, slots=True)
class _CodeCycles:
    """What an element issues: cycles of its main thread, or of its issue slot if they are more.

    `starts`, `ends`: of each synchronous send, without waiting, in order of the code.
    """

    issued: float
    starts: tuple[float, ...]
    ends: tuple[float, ...]

    @staticmethod
    def of(code: ElementCode, profile: Profile) -> _CodeCycles:
        cycles, tasks = TaskCycles(code, profile), BodyCycles()
        starts: list[float] = []
        ends: list[float] = []
        for task in code.tasks:
            tasks.add(cycles.of(task.name, task.body))
            for number, instruction in enumerate(task.body):
                if isinstance(instruction, DsdOperation) and _is_awaited_send(instruction):
                    end = cycles.of(task.name, task.body[: number + 1]).total
                    starts.append(end - cycles.moving(resolve(code, task.name, instruction)))
                    ends.append(end)
        return _CodeCycles(max(tasks.total, tasks.slot), tuple(starts), tuple(ends))


def _is_awaited_send(operation: DsdOperation) -> bool:
    return operation.label == "send" and not operation.asynchronous


@dataclass(frozen=True, slots=True)
class _FlowWay:
    """A flow of words over links, from an element that sends.

    `start`, `end`: cycles of its send; `words`: how many; `links`: by link, the number of links
    before it.
    """

    start: float
    end: float
    words: int
    links: dict[Link, int]

    @staticmethod
    def of(routed: RoutedFlow, program: Program, codes: Sequence[_CodeCycles]) -> _FlowWay:
        source = routed.flow.source
        number = int(program.placement[source])
        color = f"to{routed.color}"
        code = program.codes[number]
        sent = [
            resolve(code, task.name, instruction)
            for task in code.tasks
            for instruction in task.body
            if isinstance(instruction, DsdOperation) and instruction.label == "send"
        ]
        place = [op.dest.dsd.name for op in sent if op.dest.dsd is not None].index(color)
        return _FlowWay(
            codes[number].starts[place],
            codes[number].ends[place],
            wavelets(sent[place]),
            dict(_links(routed.flow.source, routed.turns)),
        )


def _links(source: Place, turns: Turns) -> Iterator[tuple[Link, int]]:
    """Yield the links and ramps of a flow's tree, each with the number of links before it."""
    front = [source]
    for distance in count():
        following = []
        for place in front:
            for letter in turns[place][1]:
                yield (place, letter), distance
                if letter != "R":
                    row, column = STEP[PORTS.index(letter)]
                    following.append((place[0] + row, place[1] + column))
        if not following:
            return
        front = following


def _link_cycles(ways: Sequence[_FlowWay], profile: Profile) -> list[float]:
    """Return when the last word of each link can have arrived at the earliest."""
    words: dict[Link, int] = {}
    first: dict[Link, float] = {}
    for way in ways:
        for link, before in way.links.items():
            start = way.start + profile.dispatch_to_link_cycles + before * profile.hop_cycles
            words[link] = words.get(link, 0) + way.words
            first[link] = min(first.get(link, start), start)
    arrival = profile.arrival_to_execute_cycles
    return [
        first[link] + number - 1 + arrival + (link[1] != "R") * profile.hop_cycles
        for link, number in words.items()
    ]
