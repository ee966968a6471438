"""The fields of a label: what the dynamic program carries along for one problem."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from tilewright.arch.components.components import Component, Compute, Memory, Network
from tilewright.arch.flattening.latency import LinearLatency
from tilewright.mapper.templates.problem import Problem

Gate = tuple[str, str, int]  # component, dimension, places along it (0: each lane by itself)
TimedAction = tuple[int, str]  # level of a component, action


class DeferredCounts(NamedTuple):
    """How many fields of a label hold energy, calls and bits that are paid later."""

    energy: int = 0
    calls: int = 0
    bits: int = 0


NO_DEFERRED = DeferredCounts()


@dataclass(frozen=True, slots=True)
class Leak:
    """`watts` of all instances of a component; each gate multiplies them by its usage.

    `gates`: (gate, usage per lane, or per place).
    """

    watts: float
    gates: tuple[tuple[Gate, float], ...] = ()


@dataclass(frozen=True, slots=True)
class LabelFields:
    """The numbers of a label's fields; the table above says what each holds.

    `calls`: (level, action) -> field, of the actions that a latency rule depends on, or of all
    actions if the rule gives seconds without calls (they count only where the component holds a
    tensor). Where the rule is a plain sum of calls, all actions of a level share one field of
    seconds, and `seconds` has the seconds per call. `links`: (level, dimension) -> field.
    `longest_paths`: level -> field. `tracked`: memories whose used bits labels keep to the end.
    `rates`: what one value adds to each field, kept by charge_sites.py from template to template.
    """

    used_bits: Mapping[str, int]
    lanes: int
    gates: Mapping[Gate, int]
    calls: Mapping[TimedAction, int]
    links: Mapping[tuple[int, str], int] = field(default_factory=dict)
    longest_paths: Mapping[int, int] = field(default_factory=dict)
    deferred_energy: range = range(0)
    deferred_bits: range = range(0)
    deferred_calls: range = range(0)
    tracked: frozenset[str] = frozenset()
    seconds: Mapping[TimedAction, float] = field(default_factory=dict)
    rates: dict[object, dict[int, float]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def width(self) -> int:
        """The number of fields."""
        networks = len(self.links) + len(self.longest_paths)
        calls = len(self.call_fields) + len(self.deferred_calls)
        return self.lanes + 1 + len(self.gates) + calls + networks

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
    deferred: DeferredCounts = NO_DEFERRED,
) -> LabelFields:
    """Lay out the label of `problem`.

    `leaks`: their gates have fields. `tracked`: memories whose used bits have a field even if they
    are infinite. `deferred`: how many fields hold costs that are paid later.
    """
    memories = [c for c in problem.components if isinstance(c, Memory)]
    counted = [c.name for c in memories if c.size < inf or c.name in tracked]
    used_bits = {name: 1 + i for i, name in enumerate(counted)}
    lanes = 1 + len(used_bits) + deferred.energy + deferred.bits
    gated = dict.fromkeys(gate for leak in leaks for gate, _ in leak.gates)
    gates = {gate: lanes + 1 + i for i, gate in enumerate(gated)}
    first_call = lanes + 1 + len(gates)
    calls, seconds = _call_fields(problem, first_call)
    first_link = first_call + len(set(calls.values()))
    links, longest_paths = _network_fields(problem, first_link)
    first_deferred_call = first_link + len(links) + len(longest_paths)
    first_bits = lanes - deferred.bits
    return LabelFields(
        used_bits,
        lanes,
        gates,
        calls,
        links,
        longest_paths,
        range(first_bits - deferred.energy, first_bits),
        range(first_bits, lanes),
        range(first_deferred_call, first_deferred_call + deferred.calls),
        tracked=tracked,
        seconds=seconds,
    )


def _call_fields(
    problem: Problem, first: int
) -> tuple[Mapping[TimedAction, int], Mapping[TimedAction, float]]:
    """Return the field of each timed action, from `first` on, and its seconds if they add up.

    The actions of a level whose seconds add up share a field.
    """
    timed = list(_timed_actions(problem))
    seconds: dict[TimedAction, float] = {}
    for level, action in timed:
        per_call = seconds_per_call(problem.components[level], action)
        if per_call is not None:
            seconds[level, action] = per_call
    groups = [(level, "") if (level, a) in seconds else (level, a) for level, a in timed]
    numbers = {group: first + i for i, group in enumerate(dict.fromkeys(groups))}
    calls = {(level, a): numbers.get((level, ""), numbers.get((level, a), 0)) for level, a in timed}
    return calls, seconds


def _timed_actions(problem: Problem) -> Iterator[TimedAction]:
    """Yield the actions whose calls a latency rule needs."""
    for level, component in enumerate(problem.components):
        if isinstance(component, Compute | Network):
            continue
        for action in component.actions:
            if affects_latency(component, action.name) or idle_seconds(component):
                yield level, action.name


def _network_fields(
    problem: Problem, first: int
) -> tuple[Mapping[tuple[int, str], int], Mapping[int, int]]:
    """Number the links and longest paths of all networks that take time, from `first` on."""
    networks = [
        level
        for level, component in enumerate(problem.components)
        if isinstance(component, Network) and component.latency is not None
    ]
    links = [(level, name) for level in networks for name in _dims_below(problem, level)]
    first_path = first + len(links)
    return (
        {link: first + i for i, link in enumerate(links)},
        {level: first_path + i for i, level in enumerate(networks)},
    )


def _dims_below(problem: Problem, level: int) -> list[str]:
    """Return the names of the dimensions from a level on."""
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
