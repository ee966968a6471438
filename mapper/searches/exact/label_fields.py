"""The fields of a label: what the dynamic program carries along for one problem."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from tilewright.arch.components.components import Component, Compute, Memory, Network
from tilewright.arch.flattening.latency import LinearLatency
from tilewright.mapper.templates.problem import Problem

Gate = tuple[str, str, int]  # component, dimension; places along it, 0: each lane by itself


class DeferredCounts(NamedTuple):
    """How many fields of a label hold energy, calls and bits that are paid later."""

    energy: int = 0
    calls: int = 0
    bits: int = 0


NO_DEFERRED = DeferredCounts()


@dataclass(frozen=True, slots=True)
class Leak:
    """`watts` of all instances of a component; each gate multiplies by its usage.

    `gates`: (gate, usage per lane, or per place).
    """

    watts: float
    gates: tuple[tuple[Gate, float], ...] = ()


@dataclass(frozen=True, slots=True)
class LabelFields:
    """Field numbers. Order: energy, room of finite memories, energy and room owed, lanes, gated
    lanes, calls, calls owed.

    `room`: memory -> bits in use. `lanes`: minus the number of busy computes. `gates`:
    a dimension that gates leakage -> lanes used of it, or places that serve them. `calls`:
    (level, action) -> calls of one instance, of the actions that a latency rule depends on, or of
    all if it gives seconds without calls, which count where something is held only; where it is a
    plain sum of calls, all actions of a level have one field, of `seconds` per call;
    `links` and `ways`: of a network, (level, dimension) -> actions on its busiest link, and
    level -> the longest way. `owed`, `owed_room`, `owed_calls`: energy, bits and calls that are
    paid later (deferred_costs.py). `summed`: memories whose bits in use matter to the end.
    """

    used_bits: Mapping[str, int]
    lanes: int
    gates: Mapping[Gate, int]
    calls: Mapping[tuple[int, str], int]
    links: Mapping[tuple[int, str], int] = field(default_factory=dict)
    longest_paths: Mapping[int, int] = field(default_factory=dict)
    deferred_energy: range = range(0)
    deferred_bits: range = range(0)
    deferred_calls: range = range(0)
    tracked: frozenset[str] = frozenset()
    seconds: Mapping[tuple[int, str], float] = field(default_factory=dict)
    rates: dict[object, dict[int, float]] = field(default_factory=dict, compare=False, repr=False)
    """What one value adds to each field, kept by charge_sites.py from template to template."""

    @property
    def width(self) -> int:
        own = (
            len(self.call_fields)
            + len(self.links)
            + len(self.longest_paths)
            + len(self.deferred_calls)
        )
        return self.lanes + 1 + len(self.gates) + own

    @property
    def call_fields(self) -> tuple[int, ...]:
        """The fields of calls, each once."""
        return tuple(dict.fromkeys(self.calls.values()))

    @property
    def n_energy_fields(self) -> int:
        """Leading fields that decide when only dynamic energy counts."""
        return self.lanes

    @property
    def n_class_fields(self) -> int:
        """Leading fields that decide when calls are known by the class of lanes alone."""
        return self.lanes + 1 + len(self.gates)


def label_fields(
    problem: Problem,
    leaks: Iterable[Leak],
    tracked: frozenset[str] = frozenset(),
    owed: DeferredCounts = NO_DEFERRED,
) -> LabelFields:
    """Lay out the label of `problem`; `leaks`: what leaks, so that gated lanes matter.

    `tracked`: memories whose room matters even if it is without limit. `owed`: how many fields
    hold what is paid later.
    """
    memories = [c for c in problem.components if isinstance(c, Memory)]
    finite = [c.name for c in memories if c.size < inf or c.name in tracked]
    room = {name: 1 + i for i, name in enumerate(finite)}
    lanes = 1 + len(room) + owed.energy + owed.bits
    gated = dict.fromkeys(gate for leak in leaks for gate, _ in leak.gates)
    gates = {key: lanes + 1 + i for i, key in enumerate(gated)}
    timed = [
        (level, action.name)
        for level, component in enumerate(problem.components)
        if not isinstance(component, Compute | Network)
        for action in component.actions
        if affects_latency(component, action.name) or idle_seconds(component)
    ]
    first = lanes + 1 + len(gates)
    seconds = {
        (level, action): seconds
        for level, action in timed
        if (seconds := seconds_per_call(problem.components[level], action)) is not None
    }
    groups = dict.fromkeys(
        (level, "") if (level, a) in seconds else (level, a) for level, a in timed
    )
    numbers = {group: first + i for i, group in enumerate(groups)}
    calls = {key: numbers.get((key[0], ""), numbers.get(key, 0)) for key in timed}
    links, ways = _of_networks(problem, first + len(groups))
    last = first + len(groups) + len(links) + len(ways)
    middle = lanes - owed.bits
    later = (
        range(middle - owed.energy, middle),
        range(middle, lanes),
        range(last, last + owed.calls),
    )
    return LabelFields(
        room, lanes, gates, calls, links, ways, *later, tracked=tracked, seconds=seconds
    )


def _of_networks(
    problem: Problem, first: int
) -> tuple[Mapping[tuple[int, str], int], Mapping[int, int]]:
    """Number the links and ways of all networks that take time, from `first` on."""
    networks = [
        level
        for level, component in enumerate(problem.components)
        if isinstance(component, Network) and component.latency is not None
    ]
    dims = {level: _dims_below(problem, level) for level in networks}
    links = [(level, name) for level in networks for name in dims[level]]
    ways = first + len(links)
    return (
        {key: first + i for i, key in enumerate(links)},
        {level: ways + i for i, level in enumerate(networks)},
    )


def _dims_below(problem: Problem, level: int) -> list[str]:
    return list(dict.fromkeys(dim.name for c in problem.components[level:] for dim in c.spatial))


def seconds_per_call(component: Component, action: str) -> float | None:
    """Return what a call adds to the time of its component; None if that is no plain sum."""
    rule = component.latency
    if not isinstance(rule, LinearLatency) or len(rule.pieces) > 1 or idle_seconds(component):
        return None
    terms = rule.pieces[0].terms
    if any(seconds == inf for _, seconds in terms):
        return None
    return sum(seconds for name, seconds in terms if name == action)


def idle_seconds(component: Component) -> float:
    """Return what the latency rule of a component gives without any call."""
    if component.latency is None or isinstance(component, Compute | Network):
        return 0.0
    return component.latency({action.name: 0.0 for action in component.actions})


def affects_latency(component: Component, action: str) -> bool:
    """Tell whether the latency of `component` depends on the calls of `action`, by probing it."""
    if component.latency is None:
        return False
    numbers = random.Random(len(component.actions))  # noqa: S311 - probes, not secrets
    for _ in range(8):
        calls = {a.name: 10.0 ** numbers.uniform(0, 15) for a in component.actions}
        base = component.latency(calls)
        for factor in (0.0, 1e-6, 1e6, 1e12):
            if component.latency({**calls, action: calls[action] * factor}) != base:
                return True
    return False
