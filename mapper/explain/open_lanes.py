"""Decide whether a template has a mapping if tiles depend on lanes that are chosen further out.

The dynamic program over labels decides, with labels that differ in their bits in use only; no list
of all choices of lanes is made.
"""

from __future__ import annotations

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.searches.exact.dynamic_program import DynamicSearch
from tilewright.mapper.searches.exact.label_fields import DeferredCounts, label_fields
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.program.compiled_mapspace import CompiledMapspace
from tilewright.mapper.searches.program.deferred_costs import deferred_reservation_count
from tilewright.mapper.searches.program.program import TemplateCompiler
from tilewright.mapper.searches.program.program_tree import bounded_tree, program_tree
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slot_sequence import slot_sequence


def reach_open(problem: Problem, template: Template) -> tuple[Tile, ...] | None:
    """Find tile shapes with which a template fits, where tiles depend on lanes chosen later.

    A template is a mapping without its loops. The dynamic program of the search runs without costs,
    so that no list of all choices of lanes is made. Return the tile below each slot (a place for
    loops, a fill or a reservation), or None if nothing fits.
    """
    n_deferred = deferred_reservation_count(problem, slot_sequence(problem, template), frozenset())
    fields = label_fields(problem, (), deferred=DeferredCounts(bits=n_deferred))
    engine = LabelEngine(problem, fields)
    tree = program_tree([TemplateCompiler(problem, fields).without_costs(template)])
    bounded = bounded_tree(tree, engine)
    search = DynamicSearch(CompiledMapspace(engine, LabelMetrics(problem, fields, ()), bounded))
    best = search.solve("energy").best
    return None if best is None else best.tiles
