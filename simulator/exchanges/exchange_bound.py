"""Lower bounds of the cycles of exchanges between elements (theory/grid.md §10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil

from tilewright.mapper.grid.exchanges.flow_phases import RoutedFlow, Turns
from tilewright.mapper.grid.exchanges.least_traffic import LeastTraffic
from tilewright.mapper.grid.exchanges.reshard import Place, Reshard
from tilewright.simulator.isa.resolving import resolve
from tilewright.simulator.lowering.cycle_bound import ROUNDING
from tilewright.simulator.lowering.task_cycles import TaskCycles
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instruction import DsdOperation
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import PORTS, STEP

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
    reshard: Reshard, phases: Sequence[Sequence[RoutedFlow]], profile: Profile
) -> float:
    """Return a number of cycles that the programs of a reshard do not go below together.

    It needs no program. An element issues each word that it sends or receives, and loads two
    descriptors for each flow and for its copy. A link carries one word in a cycle.
    """
    load = profile.descriptor_load_cycles + profile.descriptor_use_cycles
    pace, cycles = float(profile.cycles_per_wavelet), 0.0
    behind = (
        profile.dispatch_to_link_cycles + profile.hop_cycles + profile.arrival_to_execute_cycles
    )
    for number, flows in enumerate(phases):
        issued: dict[Place, float] = {}
        if number == 0:
            issued = dict.fromkeys(reshard.copies, float(load))
        words: dict[Link, int] = {}
        for routed in flows:
            flow = routed.flow
            for place in (flow.source, *flow.targets):
                issued[place] = issued.get(place, 0.0) + load + flow.piece.values * pace
            for link, _ in _links(flow.source, routed.turns):
                words[link] = words.get(link, 0) + flow.piece.values
        busiest = max(words.values(), default=0)
        carried = load + (busiest - 1) * pace + behind if busiest else 0.0
        cycles += max(carried, *issued.values(), 0.0)
    return cycles


def least_exchange_cycles(traffic: LeastTraffic, profile: Profile) -> float:
    """Return a number of cycles that no exchange with so much traffic goes below.

    traffic: the least words that elements send and receive, and that links carry.
    """
    load = profile.descriptor_load_cycles + profile.descriptor_use_cycles
    pace = float(profile.cycles_per_wavelet)
    receives = traffic.received * pace + load * (traffic.flows + traffic.copies)
    sends = traffic.sent * pace + load * traffic.sends
    issued = max(float(receives.max()), float((traffic.mean(receives) + sends).max()))
    if not traffic.received.any():
        return issued
    behind = (
        profile.dispatch_to_link_cycles + profile.hop_cycles + profile.arrival_to_execute_cycles
    )
    return max(issued, load + (int(traffic.received.max()) - 1) * pace + behind)


@dataclass(frozen=True, slots=True)
class _CodeCycles:
    """What an element issues: cycles of its main thread and words of its microthreads.

    `starts`, `ends`: of each synchronous send, without waiting, in order of the code.
    """

    issued: float
    starts: tuple[float, ...]
    ends: tuple[float, ...]

    @staticmethod
    def of(code: ElementCode, profile: Profile) -> _CodeCycles:
        cycles, issued = TaskCycles(code, profile), 0.0
        starts: list[float] = []
        ends: list[float] = []
        for task in code.tasks:
            issued += cycles.of(task.name, task.body).total
            for number, instruction in enumerate(task.body):
                if not isinstance(instruction, DsdOperation):
                    continue
                if instruction.asynchronous:
                    words = resolve(code, task.name, instruction).extent
                    issued += words * float(profile.cycles_per_wavelet) - profile.issue_cycles
                elif instruction.label == "send":
                    words = resolve(code, task.name, instruction).extent
                    end = cycles.of(task.name, task.body[: number + 1]).total
                    starts.append(end - words * float(profile.cycles_per_wavelet))
                    ends.append(end)
        return _CodeCycles(issued, tuple(starts), tuple(ends))


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
        sent = [
            instruction.dest.dsd  # type: ignore[union-attr]
            for task in program.codes[number].tasks
            for instruction in task.body
            if isinstance(instruction, DsdOperation) and instruction.label == "send"
        ]
        place = sent.index(color)
        return _FlowWay(
            codes[number].starts[place],
            codes[number].ends[place],
            routed.flow.piece.values,
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
    pace, arrival = float(profile.cycles_per_wavelet), profile.arrival_to_execute_cycles
    return [
        first[link] + (number - 1) * pace + arrival + (link[1] != "R") * profile.hop_cycles
        for link, number in words.items()
    ]
