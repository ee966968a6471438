"""The fields of a label: what the dynamic program carries along for one problem."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, prod
from typing import NamedTuple

import numpy as np

from tilewright.arch.components.components import Component, Compute, LatencyRule, Memory, Network
from tilewright.arch.flattening.latency import LinearLatency
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.program.rates import RateTable
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.spatial_choices import SpatialLoops

Gate = tuple[str, str, int]  # component, dimension, places along it (0: each lane by itself)
TimedAction = tuple[int, str]  # level of a component, action


class DeferredCounts(NamedTuple):
    """How many fields of a label hold costs that are paid later, once lanes above are known.

    A label is a partial mapping's tuple of costs in the dynamic program. `energy`, `calls`,
    `bits`: numbers of such fields for joules, calls of actions and bits of memories. A lane is one
    instance along a dimension of a fanout.
    """

    energy: int = 0
    calls: int = 0
    bits: int = 0


NO_DEFERRED = DeferredCounts()


class DesignFamily(NamedTuple):
    """Architectures that differ in fanouts and in energies of actions, to be searched together.

    `prices`: further prices of actions, at each of which dynamic energy is counted once more: by
    (component, action), the joules that an action costs more than on the path of components
    searched. `most_lanes`: of a dimension (component, name), where fewer may be in use than the
    path has. A lane is one instance along a dimension of a fanout.
    """

    prices: tuple[Mapping[tuple[str, str], float], ...] = ()
    most_lanes: tuple[tuple[str, str, int], ...] = ()


ONE_DESIGN = DesignFamily()


@dataclass(frozen=True, slots=True)
class Leak:
    """Leakage of one component while the Einsum runs.

    `watts`: of all its instances with nothing gated. `gates`: pairs ((component, dimension,
    instances of the memory along it or 0), share): with power gating only a share of the watts
    times the number of lanes (or memory instances) in use remains, for each gate.
    """

    watts: float
    gates: tuple[tuple[Gate, float], ...] = ()


@dataclass(frozen=True, slots=True)
class LabelFields:
    """Which column of a label holds which cost.

    A label is a partial mapping's tuple of costs in the dynamic program; column 0 is the dynamic
    energy in joules. `used_bits`: memory to the column of its bits in use. `lanes`: column of the
    lanes in use, negative so that less is better. `gates`: gate of leakage to the column of the
    lanes it has in use. `calls`: (level on the path, action) to the column of the calls of the
    busiest instance, for actions on which a latency depends. `seconds`: seconds per call, where the
    actions of a level share one column of seconds. `links`: (level of a network, dimension) to the
    column of its busiest link. `longest_paths`: level of a network to that of its longest way.
    `deferred_energy`, `deferred_bits`, `deferred_calls`: columns of costs paid later. `tracked`:
    memories whose bits labels keep to the end. `priced`: for each of further prices the columns of
    the dynamic energy and of the deferred ones at these. `has_all_deferred`: there are as many
    columns of deferred costs as any template can use. `rates`: what one value adds.
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
    priced: tuple[range, ...] = ()
    seconds: Mapping[TimedAction, float] = field(default_factory=dict)
    has_all_deferred: bool = True
    rates: RateTable = field(default_factory=RateTable, compare=False, repr=False)

    def at_price(self, field: int, number: int) -> int:
        """Return the column that is energy column `field` at further price `number`.

        `field`: 0, or a column of energy paid later.
        """
        return self.priced[number][1 + self.deferred_energy.index(field) if field else 0]

    def counts_energy(self, field: int) -> bool:
        """Tell whether column `field` holds dynamic energy, due now or later, at first price."""
        return field == 0 or field in self.deferred_energy

    @property
    def width(self) -> int:
        """The number of columns of a label, which is a partial mapping's tuple of costs."""
        networks = len(self.links) + len(self.longest_paths)
        calls = len(self.call_fields) + len(self.deferred_calls)
        return self.lanes + 1 + len(self.gates) + calls + networks

    @property
    def call_fields(self) -> tuple[int, ...]:
        """The columns that count calls of actions, or seconds of such calls, each once."""
        return tuple(dict.fromkeys(self.calls.values()))

    @property
    def n_energy_fields(self) -> int:
        """How many leading columns decide between labels when only dynamic energy counts.

        A label is a partial mapping's tuple of costs. These columns are energy, bits in use, and
        costs paid later.
        """
        return self.lanes

    @property
    def n_class_fields(self) -> int:
        """How many leading columns decide between labels when calls follow from the lanes alone.

        A label is a partial mapping's tuple of costs. These columns are energy, bits in use, costs
        paid later, lanes and power gates. A lane is one instance along a dimension of a fanout.
        """
        return self.lanes + 1 + len(self.gates)


def label_fields(
    problem: Problem,
    leaks: Iterable[Leak],
    tracked: frozenset[str] = frozenset(),
    deferred: DeferredCounts = NO_DEFERRED,
    family: DesignFamily = ONE_DESIGN,
) -> LabelFields:
    """Number the columns of the labels of an Einsum's problem.

    A label is a partial mapping's tuple of costs. `leaks`: leakage, whose power gates get columns.
    `tracked`: memories whose bits in use get a column even if their size is infinite. `deferred`:
    how many columns hold costs that are paid later. `family`: architectures searched together.
    """
    memories = [c for c in problem.components if isinstance(c, Memory)]
    counted = [c.name for c in memories if c.size < inf or c.name in tracked]
    used_bits = {name: 1 + i for i, name in enumerate(counted)}
    first_priced = 1 + len(used_bits) + deferred.energy + deferred.bits
    per_price = 1 + deferred.energy
    lanes = first_priced + len(family.prices) * per_price
    gated = dict.fromkeys(gate for leak in leaks for gate, _ in leak.gates)
    gates = {gate: lanes + 1 + i for i, gate in enumerate(gated)}
    first_call = lanes + 1 + len(gates)
    calls, seconds = _call_fields(problem, first_call)
    first_link = first_call + len(set(calls.values()))
    links, longest_paths = _network_fields(problem, first_link)
    first_deferred_call = first_link + len(links) + len(longest_paths)
    first_bits = first_priced - deferred.bits
    return LabelFields(
        used_bits,
        lanes,
        gates,
        calls,
        links,
        longest_paths,
        range(first_bits - deferred.energy, first_bits),
        range(first_bits, first_priced),
        range(first_deferred_call, first_deferred_call + deferred.calls),
        tracked=tracked,
        priced=tuple(
            range(first, first + per_price) for first in range(first_priced, lanes, per_price)
        ),
        seconds=seconds,
    )


def _call_fields(
    problem: Problem, first: int
) -> tuple[Mapping[TimedAction, int], Mapping[TimedAction, float]]:
    """Return the field of each timed action, counted from `first`, and its seconds if they add up.

    The actions of a level whose seconds add up share one field, which counts seconds.
    """
    timed = list(_timed_actions(problem))
    seconds: dict[TimedAction, float] = {}
    for level, action in timed:
        per_call = seconds_per_call(problem.components[level], action)
        if per_call is not None:
            seconds[level, action] = per_call
    groups = [(level, "") if (level, a) in seconds else (level, a) for level, a in timed]
    numbers = {group: first + i for i, group in enumerate(dict.fromkeys(groups))}
    calls = {action: numbers[group] for action, group in zip(timed, groups, strict=True)}
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
    """Number fields for networks that take time, counted from `first`.

    Return a field per (level, dimension) for the busiest link, and one per level for the longest
    path.
    """
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
    """Return the names of the dimensions of components at a level or deeper."""
    return list(dict.fromkeys(dim.name for c in problem.components[level:] for dim in c.spatial))


def seconds_per_call(component: Component, action: str) -> float | None:
    """Return the seconds that each call of an action adds to its component's latency.

    None if the latency is not simply a sum over calls.
    """
    rule = component.latency
    if not isinstance(rule, LinearLatency) or len(rule.pieces) > 1 or idle_seconds(component):
        return None
    terms = rule.pieces[0].terms
    if any(seconds == inf for _, seconds in terms):
        return None
    return sum(seconds for name, seconds in terms if name == action)


def idle_seconds(component: Component) -> float:
    """Return the seconds that a component's latency rule gives without any call, often 0.

    Always 0 for a Compute or a Network.
    """
    if component.latency is None or isinstance(component, Compute | Network):
        return 0.0
    return component.latency({action.name: 0.0 for action in component.actions})


def affects_latency(component: Component, action: str) -> bool:
    """Tell whether the latency of a component depends on the calls of an action.

    Found by probing the rule with random numbers of calls, the same in each run. The last answers
    are kept: all searches of a design ask the same.
    """
    if component.latency is None:
        return False
    key = id(component), action
    if key not in _PROBED:
        if len(_PROBED) >= MOST_PROBED:
            _PROBED.clear()
        _PROBED[key] = _Probed(component, _changes_latency(component, component.latency, action))
    return _PROBED[key].affects


class _Probed(NamedTuple):
    """Whether an action affects a component's latency.

    The component is kept so that its id stays unique.
    """

    component: Component
    affects: bool


MOST_PROBED = 1000
_PROBED: dict[tuple[int, str], _Probed] = {}


def _changes_latency(component: Component, rule: LatencyRule, action: str) -> bool:
    """Tell whether the latency changes with the number of calls of an action, by random probes."""
    numbers = random.Random(len(component.actions))  # noqa: S311 - probes, not secrets
    for _ in range(8):
        calls = {a.name: 10.0 ** numbers.uniform(0, 15) for a in component.actions}
        base = rule(calls)
        for factor in (0.0, 1e-6, 1e6, 1e12):
            if rule({**calls, action: calls[action] * factor}) != base:
                return True
    return False


def field_factors(problem: Problem, fields: LabelFields, loops: SpatialLoops) -> Floats:
    """Return what each choice of lanes multiplies each column of a label by.

    Shape (choices, fields). `loops`: one spatial dimension with its choices. Lanes in use grow by
    the lanes; costs that count the busiest of several instances shrink by them. A label is the
    tuple of costs of a partial mapping.
    """
    lanes = np.array([float(prod(choice)) for choice in loops.choices])
    factors = np.ones((len(lanes), fields.width))
    factors[:, fields.lanes] = lanes
    level = problem.level(loops.component)
    fanout = problem.dimension(loops).fanout
    for (component, name, places), column in fields.gates.items():
        if (component, name) == loops.dim:
            factors[:, column] = np.ceil(lanes * places / fanout) if places else lanes
    for column in _columns_divided_by_lanes(problem, fields, level):
        factors[:, column] = 1.0 / lanes
    return factors


def _columns_divided_by_lanes(problem: Problem, fields: LabelFields, level: int) -> Iterator[int]:
    """Yield the columns of the busiest of several instances, divided by lanes at `level`."""
    yield from (column for (there, _), column in fields.calls.items() if there >= level)
    if problem.conventions.links_carry_all_rounds:
        yield from (column for (there, _), column in fields.links.items() if there > level)
