"""Compile the programs of all templates of a mapspace, or take them from an earlier design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.label_fields import (
    NO_DEFERRED,
    ONE_DESIGN,
    DeferredCounts,
    DesignFamily,
    LabelFields,
    Leak,
    label_fields,
)
from tilewright.mapper.searches.exact.metric_terms import BackingHolders, backing_holders
from tilewright.mapper.searches.program.deferred_costs import TooFewColumns
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
from tilewright.mapper.templates.placement import Placement, Template
from tilewright.mapper.workload.errors import UnsupportedFeature

T = TypeVar("T")

SAMPLED = 4  # templates of a placement that tell how many columns the labels need


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


KNOWN: KnownStructures[MapspacePrograms] = KnownStructures()


def priced_programs(
    space: Mapspace,
    leaks: tuple[Leak, ...],
    tracked: frozenset[str],
    budget: Budget,
    family: DesignFamily = ONE_DESIGN,
) -> tuple[MapspacePrograms, Prices]:
    """Return the programs of all templates that a search needs, and the numbers of their steps.

    The programs are known ones or made now. `leaks`: leakage of the components. `tracked`: memories
    whose bits in use labels (cost tuples of partial mappings) keep to the end. `family`:
    architectures searched together. A template is a mapping without its loops. Raises OutOfBudget
    when the budget ends, UnsupportedFeature for a template that the dynamic program does not model.
    """

    def priced(programs: MapspacePrograms) -> tuple[MapspacePrograms, Prices] | None:
        fields = label_fields(space.problem, leaks, tracked, programs.deferred, family)
        prices = prices_of(
            space.problem,
            fields,
            programs.fields,
            one_instance=is_comparable(space),
            further=family.prices,
        )
        return None if prices is None else (programs, prices)

    keeps, key = KNOWN.is_used(budget), structure_key(space, tracked, *_shape(family))
    known = KNOWN.priced(key, space, priced) if keeps else None
    if known is not None:
        return known
    programs = _compiled(_CostsToName(space, leaks, tracked, family), budget)
    if keeps:
        KNOWN.keep(key, space, programs, programs.tree.root.size)
    made = priced(programs)
    if made is None:
        raise UnsupportedFeature("an action costs nothing at some prices only")
    return made


def _shape(family: DesignFamily) -> tuple[object, ...]:
    """Return what the columns of labels depend on: the number of prices; () for one design."""
    return (len(family.prices),) if family.prices else ()


def _compiled(costs: _CostsToName, budget: Budget) -> MapspacePrograms:
    """Compile all templates that a search needs, with their costs by name.

    The number of label columns is found from a few templates, because finding it from all takes as
    long as compiling them. If another template needs more, all are asked.
    """
    templates = costs.space.search_templates(budget.check)
    sample = sampled_templates(templates, lambda template: template.placement, SAMPLED)
    try:
        return _with_columns_for(costs, templates, sample, budget)
    except TooFewColumns:
        return _with_columns_for(costs, templates, templates, budget)


class _CostsToName(NamedTuple):
    """A mapspace and what its labels count: leakage, tracked memories, further prices."""

    space: Mapspace
    leaks: tuple[Leak, ...]
    tracked: frozenset[str]
    family: DesignFamily


def _with_columns_for(
    costs: _CostsToName,
    templates: Sequence[Template],
    sample: Sequence[Template],
    budget: Budget,
) -> MapspacePrograms:
    """Compile templates with as many columns as a sample of them needs.

    Raises TooFewColumns if that is less than some template needs.
    """
    problem, leaks, tracked = costs.space.problem, costs.leaks, costs.tracked
    columns = replace(label_fields(problem, leaks, tracked), rates=RateTable(by_name=True))
    deferred = most_deferred(problem, columns, budget.checking(sample))
    if deferred != NO_DEFERRED:
        columns = label_fields(problem, leaks, tracked, deferred)
    if costs.family.prices:
        columns = label_fields(problem, leaks, tracked, deferred, costs.family)
    columns = replace(columns, rates=RateTable(by_name=True))
    has_all = len(sample) == len(templates)
    compiler = TemplateCompiler(problem, replace(columns, has_all_deferred=has_all))
    tree = program_tree(
        with_tracked_usage(program, tracked)
        for template in templates
        for program in budget.checking(compiler.programs(template))
    )
    tops = tuple(dict.fromkeys(map(backing_holders, templates)))
    return MapspacePrograms(tree, columns, deferred, len(templates), tops)


def sampled_templates(
    templates: Sequence[T], placement_of: Callable[[T], Placement], most: int
) -> list[T]:
    """Return up to `most` templates of each placement, evenly spaced in the list.

    They mostly need as many label columns as all templates do. A template is a mapping without its
    loops.
    """
    by_placement: dict[Placement, list[T]] = {}
    for template in templates:
        by_placement.setdefault(placement_of(template), []).append(template)
    return [
        template
        for several in by_placement.values()
        for template in several[:: -(-len(several) // most)]
    ]
