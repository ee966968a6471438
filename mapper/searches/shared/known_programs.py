"""Keep the programs of mapspaces for architectures that differ in costs and sizes alone.

Templates and their steps depend on the Einsum, on the path of components and its rules, and on
which tiles fit. Energies, speeds, leakage and, between two answers, sizes come in as numbers
afterwards. So the designs of a study mostly have the programs of an earlier design, and only the
numbers are worked out anew. An answer cannot depend on what was searched before: programs are
always made with their costs by name, and looked up by all that they depend on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields, replace
from math import inf
from typing import NamedTuple

from tilewright.arch.components.components import Component, Memory
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.label_fields import (
    NO_DEFERRED,
    DeferredCounts,
    LabelFields,
    Leak,
    label_fields,
)
from tilewright.mapper.searches.exact.metric_terms import BackingHolders, backing_holders
from tilewright.mapper.searches.program.program import TemplateCompiler, most_deferred
from tilewright.mapper.searches.program.program_tree import ProgramTree, program_tree
from tilewright.mapper.searches.program.rates import RateTable
from tilewright.mapper.searches.program.track_usage import with_tracked_usage
from tilewright.mapper.searches.shared.priced_steps import Prices
from tilewright.mapper.templates.size_tests import SizeTests

MOST_NODES = 200_000  # of all trees that are kept: some 200 MB
_COSTS = frozenset({"area", "leak_power", "latency", "actions", "size", "tensors"})


@dataclass(frozen=True, slots=True)
class MapspacePrograms:
    """The programs of all templates that a search of a mapspace needs, with costs by name.

    `tree`: their steps. `fields`: columns of the labels (cost tuples of partial mappings), and the
    table of rates. `deferred`: how many columns hold costs paid later. `n_templates`: how many
    there are; `backing_holders`: the sets of holders above all loops among them. A template is a
    mapping without its loops.
    """

    tree: ProgramTree
    fields: LabelFields
    deferred: DeferredCounts
    n_templates: int
    backing_holders: tuple[BackingHolders, ...]


class PricedPrograms(NamedTuple):
    """The programs of a mapspace, and the numbers to put into their steps."""

    programs: MapspacePrograms
    prices: Prices


class _Known(NamedTuple):
    """Programs with all that they depend on: rules by value, sizes by the questions asked."""

    rules: tuple[object, ...]
    size_tests: SizeTests
    programs: MapspacePrograms


class KnownPrograms:
    """The programs of the mapspaces last searched in this process; those least used go first.

    `looked_up`, `shared`: how often programs were asked for, and were there.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, list[_Known]] = OrderedDict()
        self.looked_up = 0
        self.shared = 0

    def clear(self) -> None:
        """Drop all programs, to free their memory."""
        self._known.clear()

    def priced(
        self, space: Mapspace, leaks: tuple[Leak, ...], tracked: frozenset[str]
    ) -> PricedPrograms | None:
        """Return known programs that hold for a mapspace, with its numbers; None if there are none.

        `leaks`: leakage of its components; `tracked`: memories whose bits in use count.
        """
        self.looked_up += 1
        key, rules = _key(space), _rules(space, tracked)
        for known in self._known.get(key, ()):
            if known.rules == rules and known.size_tests.hold_for(space.problem.components):
                prices = _prices(space, leaks, tracked, known.programs)
                if prices is not None:
                    self.shared += 1
                    self._known.move_to_end(key)
                    return PricedPrograms(known.programs, prices)
        return None

    def keep(self, space: Mapspace, tracked: frozenset[str], programs: MapspacePrograms) -> None:
        """Keep the programs of a mapspace, unless they depend on more than is compared."""
        if not _is_comparable(space):
            return
        known = _Known(_rules(space, tracked), space.problem.size_tests, programs)
        self._known.setdefault(_key(space), []).append(known)
        self._known.move_to_end(_key(space))
        while len(self._known) > 1 and self._n_nodes() > MOST_NODES:
            self._known.popitem(last=False)
        if self._n_nodes() > MOST_NODES:
            self._known.clear()

    def _n_nodes(self) -> int:
        return sum(k.programs.tree.root.size for group in self._known.values() for k in group)


KNOWN = KnownPrograms()


def priced_programs(
    space: Mapspace, leaks: tuple[Leak, ...], tracked: frozenset[str], budget: Budget
) -> PricedPrograms:
    """Return the programs of all templates that a search needs, known ones or made now.

    `leaks`: leakage of the components. `tracked`: memories whose bits in use labels (cost tuples of
    partial mappings) keep to the end. A template is a mapping without its loops. Raises OutOfBudget
    when the budget ends, UnsupportedFeature for a template that the dynamic program does not model.
    """
    known = KNOWN.priced(space, leaks, tracked)
    if known is not None:
        return known
    programs = _compiled(space, leaks, tracked, budget)
    KNOWN.keep(space, tracked, programs)
    prices = _prices(space, leaks, tracked, programs)
    assert prices is not None
    return PricedPrograms(programs, prices)


def _compiled(
    space: Mapspace, leaks: tuple[Leak, ...], tracked: frozenset[str], budget: Budget
) -> MapspacePrograms:
    """Compile all templates that a search needs, with their costs by name."""
    problem, templates = space.problem, space.search_templates(budget.check)
    columns = replace(label_fields(problem, leaks, tracked), rates=RateTable(by_name=True))
    deferred = most_deferred(problem, columns, budget.checking(templates))
    if deferred != NO_DEFERRED:
        columns = label_fields(problem, leaks, tracked, deferred)
    columns = replace(columns, rates=RateTable(by_name=True))
    compiler = TemplateCompiler(problem, columns)
    tree = program_tree(
        with_tracked_usage(program, tracked)
        for template in templates
        for program in budget.checking(compiler.programs(template))
    )
    tops = tuple(dict.fromkeys(map(backing_holders, templates)))
    return MapspacePrograms(tree, columns, deferred, len(templates), tops)


def _prices(
    space: Mapspace, leaks: tuple[Leak, ...], tracked: frozenset[str], programs: MapspacePrograms
) -> Prices | None:
    """Return the numbers of a mapspace for programs; None if other columns or signs need others."""
    own = label_fields(space.problem, leaks, tracked, programs.deferred)
    if _without_speeds(own) != _without_speeds(programs.fields):
        return None
    rates = programs.fields.rates.values(space.problem, own)
    if rates is None:
        return None
    capacities = {}
    if _is_comparable(space):
        sizes = {c.name: float(c.size) for c in space.problem.components if isinstance(c, Memory)}
        capacities = {field: sizes[name] for name, field in own.used_bits.items()}
    return Prices(own, rates, capacities)


def _without_speeds(columns: LabelFields) -> LabelFields:
    return replace(columns, seconds=dict.fromkeys(columns.seconds, 1.0))


def _is_comparable(space: Mapspace) -> bool:
    """Tell whether programs depend on the rules alone: no hops, and one instance has each size."""
    problem = space.problem
    spread = any(c.physical_fanout > 1 or c.grid_fanout > 1 for c in problem.components)
    return not (problem.has_networks or spread)


def _key(space: Mapspace) -> Hashable:
    """Return a key that is fast to make; programs with equal keys may still differ."""
    fanouts = tuple((c.name, c.own_fanout) for c in space.problem.components)
    return space.einsum.name, tuple(space.einsum.bounds.items()), space.conventions, fanouts


def _rules(space: Mapspace, tracked: frozenset[str]) -> tuple[object, ...]:
    """Return all but costs and sizes that the programs of a mapspace depend on."""
    return (
        space.einsum,
        (space.backed, space.uneven, space.crowded, space.exchanged, tracked),
        space.lists_lane_choices,
        space.chosen_templates,
        space.placements,
        [list(_component_rules(component)) for component in space.problem.components],
    )


def _component_rules(component: Component) -> Iterable[object]:
    """Yield what a component is, without its costs and its size."""
    yield type(component)
    yield [(action.name, action.values_per_action) for action in component.actions]
    yield isinstance(component, Memory) and component.size == inf
    yield from (getattr(component, f.name) for f in fields(component) if f.name not in _COSTS)
