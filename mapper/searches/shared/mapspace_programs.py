"""The programs of all templates of a mapspace, known from another design or made now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

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
from tilewright.mapper.searches.shared.known_structures import (
    KnownStructures,
    is_comparable,
    structure_key,
)
from tilewright.mapper.searches.shared.priced_steps import Prices, prices_of


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


KNOWN: KnownStructures[MapspacePrograms] = KnownStructures()


def priced_programs(
    space: Mapspace, leaks: tuple[Leak, ...], tracked: frozenset[str], budget: Budget
) -> PricedPrograms:
    """Return the programs of all templates that a search needs, known ones or made now.

    `leaks`: leakage of the components. `tracked`: memories whose bits in use labels (cost tuples of
    partial mappings) keep to the end. A template is a mapping without its loops. Raises OutOfBudget
    when the budget ends, UnsupportedFeature for a template that the dynamic program does not model.
    """

    def priced(programs: MapspacePrograms) -> PricedPrograms | None:
        own = label_fields(space.problem, leaks, tracked, programs.deferred)
        prices = prices_of(space.problem, own, programs.fields, one_instance=is_comparable(space))
        return None if prices is None else PricedPrograms(programs, prices)

    keeps, key = KNOWN.is_used(budget), structure_key(space, tracked)
    known = KNOWN.priced(key, space, priced) if keeps else None
    if known is not None:
        return known
    programs = _compiled(space, leaks, tracked, budget)
    if keeps:
        KNOWN.keep(key, space, programs, programs.tree.root.size)
    made = priced(programs)
    assert made is not None
    return made


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
