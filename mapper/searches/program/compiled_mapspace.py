"""A mapspace as one tree of programs, ready for the dynamic program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.searches.exact.label_fields import NO_DEFERRED, label_fields
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.exact.metric_terms import compulsory_latency, leaks_of
from tilewright.mapper.searches.program.program import (
    TemplateCompiler,
    TemplateProgram,
    most_deferred,
)
from tilewright.mapper.searches.program.program_tree import (
    ProgramNode,
    bound_remaining_cost,
    program_tree,
)
from tilewright.mapper.searches.program.track_usage import with_tracked_usage
from tilewright.mapper.templates.placement import Template


@dataclass(frozen=True, slots=True)
class CompiledMapspace:
    """The tree `root` of the programs of some templates, with its outlooks filled in."""

    engine: LabelEngine
    metrics: LabelMetrics
    root: ProgramNode


def compile_mapspace(
    space: Mapspace,
    price: float = 0.0,
    budget: Budget = UNLIMITED,
    tracked: frozenset[str] = frozenset(),
) -> CompiledMapspace:
    """Compile all templates; `price` of a second in joule; labels keep the room of `tracked`.

    OutOfBudget.
    """
    templates = space.search_templates(budget.check)
    leaks = leaks_of(space.flat, space.conventions)
    plain = label_fields(space.problem, leaks, tracked)
    owed = most_deferred(space.problem, plain, budget.checking(templates))
    layout = plain if owed == NO_DEFERRED else label_fields(space.problem, leaks, tracked, owed)
    compiler = TemplateCompiler(space.problem, layout)
    programs = (
        with_tracked_usage(program, tracked)
        for template in templates
        for program in budget.checking(compiler.programs(template))
    )
    metrics = LabelMetrics(
        space.problem, layout, leaks, compulsory_latency(space, templates), price
    )
    return _grown(LabelEngine(space.problem, layout), metrics, programs, budget)


def compile_template(
    space: Mapspace, price: float, template: Template, most: int
) -> CompiledMapspace:
    """Compile one template, at most so many programs of it."""
    leaks = leaks_of(space.flat, space.conventions)
    plain = label_fields(space.problem, leaks)
    layout = label_fields(
        space.problem, leaks, owed=most_deferred(space.problem, plain, [template])
    )
    programs = islice(TemplateCompiler(space.problem, layout).programs(template), most)
    metrics = LabelMetrics(space.problem, layout, leaks, 0.0, price)
    return _grown(LabelEngine(space.problem, layout), metrics, programs, UNLIMITED)


def _grown(
    engine: LabelEngine, metrics: LabelMetrics, programs: Iterable[TemplateProgram], budget: Budget
) -> CompiledMapspace:
    root = program_tree(programs)
    if root.children or root.programs:
        bound_remaining_cost(root, engine, budget)
    return CompiledMapspace(engine, metrics, root)
