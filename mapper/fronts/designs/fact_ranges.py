"""The ranges of numbers over a family of designs, and the path of components searched for them all.

Each knob has been turned alone. Energies that a knob moves in step form a price group: those of a
design lie at a share from 0 to 1 of the group's range. The path searched has the largest sizes and
fanouts, the least energies, and leaks no more than any design (theory/fronts.md §7).

Example: a knob makes a read of DRAM cost 4, 6 or 8 J, and a write 5, 6 or 7 J. Both are in one
group with the ranges 4 and 2 J; the design with 6 and 6 J has the share 0.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from tilewright.arch.components.components import Component, Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fronts.designs.design_facts import ActionName, DesignFacts, DimName
from tilewright.mapper.model.conventions import conventions_called

MOST_GROUPS = 3  # labels have a column for each corner of a box with so many sides
NOISE = 1e-12  # relative: the same expression worked out in another order
_DIGITS = 9  # by which two energies move in step

PriceGroup = Mapping[ActionName, float]  # action -> joules from the least to the most


class DesignPlace(NamedTuple):
    """Where a design lies in its family.

    `shares`: of each price group's range, 0 to 1. `sizes`: bits of each memory that differs;
    `fanouts`: lanes of each such dimension. `watts`: what it leaks above the path searched.
    """

    shares: tuple[float, ...]
    sizes: tuple[float, ...]
    fanouts: tuple[int, ...]
    watts: float


@dataclass(frozen=True, slots=True)
class FactRanges:
    """The numbers of a family of designs of one form.

    `sizes`: ascending bits of each memory in which designs differ; `fanouts`: the same of
    dimensions. `energies`: least joules of each action. `groups`: actions whose energies differ in
    step, with the most joules above the least of each. `watts`: all designs leak at least so much.
    """

    sizes: Mapping[str, tuple[float, ...]]
    fanouts: Mapping[DimName, tuple[float, ...]]
    energies: Mapping[ActionName, float]
    groups: tuple[PriceGroup, ...]
    watts: float
    _base: DesignFacts

    @property
    def prices(self) -> tuple[Mapping[ActionName, float], ...]:
        """Prices to search at besides the least ones, as joules above the least energies.

        They are the corners of the box of all prices but the least: number 2^i - 1 has group i
        alone at its most.
        """
        corners = range(1, 1 << len(self.groups))
        return tuple(
            {
                action: joules
                for i, group in enumerate(self.groups)
                if corner >> i & 1
                for action, joules in group.items()
            }
            for corner in corners
        )

    def searched(self, flat: FlatArch) -> FlatArch:
        """Return the path that stands for the family in the search.

        With the largest sizes and fanouts, the least energies and the least leakage.
        """
        components = [self._searched(component) for component in flat.components]
        outermost = components[0]
        copies = conventions_called("default").instances(outermost)
        components[0] = replace(outermost, leak_power=self.watts / copies)
        compute: Any = components[-1]
        beside = tuple(self._searched(component) for component in flat.beside)
        return replace(flat, compute=compute, components=tuple(components), beside=beside)

    def _searched(self, component: Component) -> Component:
        spatial = tuple(
            replace(
                dim, fanout=int(self.fanouts.get((component.name, dim.name), (dim.fanout,))[-1])
            )
            for dim in component.spatial
        )
        actions = tuple(
            replace(action, energy=self.energies[component.name, action.name])
            for action in component.actions
        )
        changes: dict[str, Any] = {"spatial": spatial, "actions": actions, "leak_power": 0.0}
        if isinstance(component, Memory) and component.name in self.sizes:
            changes["size"] = self.sizes[component.name][-1]
        return replace(component, **changes)

    @property
    def has_largest_base(self) -> bool:
        """Whether the design from which the family was made has the largest sizes and fanouts."""
        sizes = all(self._base.sizes[name] == several[-1] for name, several in self.sizes.items())
        return sizes and all(self._base.fanouts[d] == f[-1] for d, f in self.fanouts.items())

    def place(self, facts: DesignFacts) -> DesignPlace | None:
        """Return where a design of the same form lies; None if it is no member of the family."""
        shares = tuple(self._share(group, facts) for group in self.groups)
        sizes = tuple(facts.sizes[name] for name in self.sizes)
        fanouts = tuple(facts.fanouts[dim] for dim in self.fanouts)
        watts = sum(facts.watts.values()) - self.watts
        noise = 1e3 * NOISE * self.watts
        if not self._holds(facts, shares):
            return None
        return DesignPlace(shares, sizes, fanouts, max(watts, 0.0)) if watts >= -noise else None

    def _share(self, group: PriceGroup, facts: DesignFacts) -> float:
        widest = max(group, key=lambda action: group[action])
        return (facts.energies[widest] - self.energies[widest]) / group[widest]

    def _holds(self, facts: DesignFacts, shares: Sequence[float]) -> bool:
        """Tell whether a design's energies follow from its shares and its sizes are known."""
        expected = dict(self.energies)
        for group, share in zip(self.groups, shares, strict=True):
            if not -NOISE <= share <= 1 + NOISE:
                return False
            expected |= {a: self.energies[a] + share * joules for a, joules in group.items()}
        return (
            all(facts.sizes[name] in several for name, several in self.sizes.items())
            and all(facts.fanouts[dim] in several for dim, several in self.fanouts.items())
            and _alike(facts.sizes, self._base.sizes, self.sizes)
            and _alike(facts.fanouts, self._base.fanouts, self.fanouts)
            and all(_near(facts.energies[action], joules) for action, joules in expected.items())
        )


class _KnobEffect(NamedTuple):
    """How a knob changes the energy of an action.

    `least`: joules from the base to the least; `span`: from there to the most; `profile`: per value
    of the knob, the share of the way from least to most.
    """

    least: float
    span: float
    profile: tuple[float, ...]


def _effect(action: ActionName, joules: float, knob: Sequence[DesignFacts]) -> _KnobEffect | None:
    """Return how a knob changes an action's energy; None if it does not.

    `joules`: its energy in the base design. `knob`: the designs with each value of the knob.
    """
    steps = [design.energies[action] - joules for design in knob]
    least, span = min(steps), max(steps) - min(steps)
    if span <= NOISE * abs(joules):
        return None
    return _KnobEffect(least, span, tuple(round((step - least) / span, _DIGITS) for step in steps))


def _effects(
    action: ActionName, base: DesignFacts, knobs: Sequence[Sequence[DesignFacts]]
) -> list[tuple[int, _KnobEffect]]:
    """Return the knobs that change an action's energy, by number, each with how it does."""
    effects = (_effect(action, base.energies[action], knob) for knob in knobs)
    return [(number, effect) for number, effect in enumerate(effects) if effect is not None]


def ranges_of(base: DesignFacts, knobs: Sequence[Sequence[DesignFacts]]) -> FactRanges | None:
    """Return the ranges of a family from designs in which one knob alone was turned.

    `base`: of all knobs at some value; `knobs`: per knob the designs with each of its values, that
    of `base` among them. None if the knobs do not act apart, or on too many energies.
    """
    designs = [base, *(design for knob in knobs for design in knob)]
    groups: dict[tuple[object, ...], dict[ActionName, float]] = {}
    energies = dict(base.energies)
    for action in base.energies:
        effects = _effects(action, base, knobs)
        if len(effects) > 1:
            return None
        for number, effect in effects:
            groups.setdefault((number, effect.profile), {})[action] = effect.span
            energies[action] += effect.least
    if len(groups) > MOST_GROUPS or min(energies.values(), default=0.0) < 0:
        return None
    return FactRanges(
        _differing([design.sizes for design in designs]),
        _differing([design.fanouts for design in designs]),
        energies,
        tuple(groups.values()),
        _least_watts(base, knobs),
        base,
    )


def _differing(several: Sequence[Mapping[Any, float]]) -> dict[Any, tuple[float, ...]]:
    """Return the keys with several values, each with these values, rising."""
    values = {key: sorted({float(each[key]) for each in several}) for key in several[0]}
    return {key: tuple(each) for key, each in values.items() if len(each) > 1}


def _least_watts(base: DesignFacts, knobs: Sequence[Sequence[DesignFacts]]) -> float:
    """Return the least leakage of the family, if each knob multiplies it by a factor of its own.

    `FactRanges.place` checks that for each design.
    """
    return sum(
        watts * prod(min(design.watts[name] for design in knob) / watts for knob in knobs)
        for name, watts in base.watts.items()
        if watts
    )


def _alike(
    facts: Mapping[Any, float], base: Mapping[Any, float], differing: Iterable[object]
) -> bool:
    changing = set(differing)
    return all(facts[key] == value for key, value in base.items() if key not in changing)


def _near(first: float, second: float) -> bool:
    return abs(first - second) <= 1e3 * NOISE * max(abs(first), abs(second))
