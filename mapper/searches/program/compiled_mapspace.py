"""A mapspace as one tree of programs, ready for the dynamic program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import ENDLESS, Budget
from tilewright.mapper.searches.exact.label_fields import NOTHING, fields
from tilewright.mapper.searches.exact.label_metrics import Metrics
from tilewright.mapper.searches.exact.label_tables import Engine
from tilewright.mapper.searches.exact.metric_terms import compulsory_latency, leaks_of
from tilewright.mapper.searches.program.program import Compiler, Program, most_owed
from tilewright.mapper.searches.program.program_tree import Node, grow, look_ahead
from tilewright.mapper.searches.program.track_usage import tracking
from tilewright.mapper.templates.placement import Template


@dataclass(frozen=True, slots=True)
class Compiled:
    """The tree `root` of the programs of some templates, with its outlooks filled in."""

    engine: Engine
    metrics: Metrics
    root: Node


def compiled(
    space: Mapspace,
    price: float = 0.0,
    budget: Budget = ENDLESS,
    tracked: frozenset[str] = frozenset(),
) -> Compiled:
    """Compile all templates; `price` of a second in joule; labels keep the room of `tracked`.

    OutOfBudget.
    """
    templates = space.search_templates(budget.check)
    leaks = leaks_of(space.flat, space.conventions)
    plain = fields(space.problem, leaks, tracked)
    owed = most_owed(space.problem, plain, budget.watched(templates))
    layout = plain if owed == NOTHING else fields(space.problem, leaks, tracked, owed)
    compiler = Compiler(space.problem, layout)
    programs = (
        tracking(program, tracked)
        for template in templates
        for program in budget.watched(compiler.programs(template))
    )
    metrics = Metrics(space.problem, layout, leaks, compulsory_latency(space, templates), price)
    return _grown(Engine(space.problem, layout), metrics, programs, budget)


def compiled_of(space: Mapspace, price: float, template: Template, most: int) -> Compiled:
    """Compile one template, at most so many programs of it."""
    leaks = leaks_of(space.flat, space.conventions)
    plain = fields(space.problem, leaks)
    layout = fields(space.problem, leaks, owed=most_owed(space.problem, plain, [template]))
    programs = islice(Compiler(space.problem, layout).programs(template), most)
    metrics = Metrics(space.problem, layout, leaks, 0.0, price)
    return _grown(Engine(space.problem, layout), metrics, programs, ENDLESS)


def _grown(
    engine: Engine, metrics: Metrics, programs: Iterable[Program], budget: Budget
) -> Compiled:
    root = grow(programs)
    if root.children or root.ends:
        look_ahead(root, engine, budget)
    return Compiled(engine, metrics, root)
