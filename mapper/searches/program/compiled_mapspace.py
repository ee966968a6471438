"""A mapspace as one tree of programs, ready for the dynamic program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import NamedTuple

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.searches.exact.kernels import LabelTable
from tilewright.mapper.searches.exact.label_fields import (
    ONE_DESIGN,
    DesignFamily,
    Leak,
    label_fields,
)
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine, compute_energy
from tilewright.mapper.searches.exact.metric_terms import leaks_of, seconds_of_first_moves
from tilewright.mapper.searches.exact.remaining.energies_at_prices import EnergiesAtPrices
from tilewright.mapper.searches.program.program import TemplateCompiler, most_deferred
from tilewright.mapper.searches.program.program_steps import ProgramStep
from tilewright.mapper.searches.program.program_tree import (
    NOTHING_KNOWN,
    BoundedTree,
    NodeEnergies,
    bounded_tree,
    least_energies,
    program_tree,
    without_lanes,
)
from tilewright.mapper.searches.shared.mapspace_programs import (
    KNOWN,
    MapspacePrograms,
    priced_programs,
)
from tilewright.mapper.searches.shared.priced_steps import ExtraJoules, Prices, with_extra_joules
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem


@dataclass(frozen=True, slots=True)
class CompiledMapspace:
    """Templates as one tree of steps, ready for the dynamic program.

    `engine`: carries the steps out over all tiles. `metrics`: turns labels (cost tuples) into
    energy and latency. `tree`: with lower bounds of the cost still to come at each node.
    `n_templates`: how many a search needs; `family`: architectures searched together. A template is
    a mapping without its loops.
    """

    engine: LabelEngine
    metrics: LabelMetrics
    tree: BoundedTree
    n_templates: int = 1
    family: DesignFamily = ONE_DESIGN
    further: _FurtherPrices | None = None

    def initial(self) -> LabelTable:
        """Return the table to start from: one label at the tile of one value.

        The energy of the Compute is paid in it, at each of the prices of the family. A label is the
        tuple of costs of a partial mapping.
        """
        table, fields = self.engine.initial(), self.engine.fields
        for number, more in enumerate(self.family.prices):
            dearer = with_extra_joules(self.engine.problem, more)
            table.label[0, fields.at_price(0, number)] = compute_energy(dearer)
        return table

    def with_lanes(self, family: DesignFamily, budget: Budget = UNLIMITED) -> CompiledMapspace:
        """Return the same mapspace for other fanouts, at the same prices of actions.

        `family`: how many lanes may be in use. Bounds of steps above which no such lanes are chosen
        are taken over. A lane is one instance along a dimension of a fanout. Raises OutOfBudget.
        """
        engine, bounded = self.engine.with_lanes(family), self.tree
        dims = {(component, name) for component, name, _ in family.most_lanes}
        same = without_lanes(bounded.tree, dims)
        known = {number: bounded.bounds[number] for number in same}
        tree = bounded_tree(bounded.tree, engine, budget, bounded.steps, known)
        further = self.further
        if further is not None:
            further = further._replace(energies=further.energies.with_engine(engine))
            joules = {number: bounded.energies[number] for number in same}
            tree = further.bounded(tree, budget, joules)
        return replace(self, engine=engine, tree=tree, family=family, further=further)


class _FurtherPrices(NamedTuple):
    """Bounds of energy at the further prices of a family.

    `energies`: at some of them, `parts`: for each price the numbers of those that are its parts.
    """

    energies: EnergiesAtPrices
    parts: Sequence[Sequence[int]]

    def bounded(
        self, tree: BoundedTree, budget: Budget, known: Mapping[int, NodeEnergies] = NOTHING_KNOWN
    ) -> BoundedTree:
        """Return a tree with these bounds, too; those of some continuations are `known`."""
        return tree.with_further(least_energies(tree, self.energies, budget, known), self.parts)


def compile_mapspace(
    space: Mapspace,
    price: float = 0.0,
    budget: Budget = UNLIMITED,
    tracked: frozenset[str] = frozenset(),
    family: DesignFamily = ONE_DESIGN,
) -> CompiledMapspace:
    """Compile all templates that a search needs into one tree of steps.

    `price`: joules that a second of latency costs on top. `tracked`: memories whose bits in use
    labels keep to the end. `family`: architectures searched together. A template is a mapping
    without its loops; a label is the tuple of costs of a partial mapping. Programs that a mapspace
    with other costs left in this process are
    used again where they hold, and for other fanouts the bounds that do not depend on these. Raises
    OutOfBudget when the budget ends, UnsupportedFeature for a
    template that the dynamic program does not model.
    """
    leaks = leaks_of(space.flat, space.conventions)
    programs, prices = priced_programs(space, leaks, tracked, budget, family)
    keeps, key = KNOWN.is_used(budget), _KeptKey(programs, prices, space.problem, leaks, price)
    if not keeps:
        _KEPT.clear()  # of a limit of memory it would count
    known = _kept(key) if family.most_lanes else None
    if known is not None:
        return known.with_lanes(family, budget)
    compulsory = seconds_of_first_moves(space, programs.backing_holders)
    metrics = LabelMetrics(space.problem, prices.fields, leaks, compulsory, price)
    engine = LabelEngine(space.problem, prices.fields, family)
    tree = bounded_tree(programs.tree, engine, budget, prices.steps(programs.tree.steps))
    further = None
    if prices.further:
        further = _further_prices(tree, engine, prices, family)
        tree = further.bounded(tree, budget)
    compiled = CompiledMapspace(engine, metrics, tree, programs.n_templates, family, further)
    if keeps and family.most_lanes:
        _keep(key, compiled)
    return compiled


def _further_prices(
    tree: BoundedTree, engine: LabelEngine, prices: Prices, family: DesignFamily
) -> _FurtherPrices:
    """Return the bounds of energy at the further prices of a family."""
    dearer: list[tuple[ProgramStep, ...]] = []
    parts: list[tuple[int, ...]] = []  # each is a lower bound, and together they are nearly as good
    for number, rates in enumerate(prices.further):
        several = _parts(family.prices, number)
        if several:
            parts.append(tuple(sorted({base for part in several for base in parts[part]})))
            continue
        parts.append((len(dearer),))
        dearer.append(replace(prices, rates=rates, further=()).steps(tree.tree.steps))
    return _FurtherPrices(EnergiesAtPrices(engine, tree.steps, dearer), parts)


def _parts(prices: Sequence[ExtraJoules], number: int) -> list[int]:
    """Return the numbers of earlier prices whose extra costs together are those of price `number`.

    Empty if there are none.
    """
    price = prices[number].items()
    parts = [part for part in range(number) if prices[part].items() < price]
    together = set(chain.from_iterable(prices[part].items() for part in parts))
    return parts if together == set(price) else []


class _KeptKey(NamedTuple):
    """All that a compiled mapspace depends on but how many lanes may be in use."""

    programs: MapspacePrograms
    prices: Prices
    problem: Problem
    leaks: tuple[Leak, ...]
    price: float

    def equals(self, other: _KeptKey) -> bool:
        """Tell whether both are the same; those of programs that are made twice differ."""
        return self.programs is other.programs and self[1:] == other[1:]


MOST_KEPT = 4  # mapspaces: a workload's Einsums are searched in turns
MOST_NUMBERS = 8_000_000  # of the bounds of one: 64 MB
_KEPT: list[tuple[_KeptKey, CompiledMapspace]] = []
"""The mapspaces compiled last, the latest at the end: those with other fanouts share most of it."""


def _kept(key: _KeptKey) -> CompiledMapspace | None:
    return next((compiled for known, compiled in _KEPT if known.equals(key)), None)


def _keep(key: _KeptKey, compiled: CompiledMapspace) -> None:
    rows = len(compiled.tree.bounds) * (2 + len(compiled.family.prices))
    if rows * compiled.engine.lattice.size <= MOST_NUMBERS:
        _KEPT.append((key, compiled))
        del _KEPT[:-MOST_KEPT]


def compile_template(
    space: Mapspace, price: float, template: Template, max_programs: int
) -> CompiledMapspace:
    """Compile one template into a tree of at most `max_programs` lists of steps.

    There are several if lanes must be fixed before. `price`: joules that a second of latency costs
    on top. A template is a mapping without its loops; a lane is one instance along a dimension of
    a fanout. Raises UnsupportedFeature if the dynamic program does not model the template.
    """
    leaks = leaks_of(space.flat, space.conventions)
    deferred = most_deferred(space.problem, label_fields(space.problem, leaks), [template])
    fields = label_fields(space.problem, leaks, deferred=deferred)
    programs = islice(TemplateCompiler(space.problem, fields).programs(template), max_programs)
    metrics = LabelMetrics(space.problem, fields, leaks, 0.0, price)
    engine = LabelEngine(space.problem, fields)
    return CompiledMapspace(engine, metrics, bounded_tree(program_tree(programs), engine))
