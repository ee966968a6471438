"""Whether a template has a mapping when its tiles depend on lanes that are still to be chosen.

The dynamic program over labels, of which only the bits in use are told apart: no list of all lanes.
"""

from __future__ import annotations

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.searches.exact.dynamic_program import DynamicSearch
from tilewright.mapper.searches.exact.label_fields import Owed, fields
from tilewright.mapper.searches.exact.label_metrics import Metrics
from tilewright.mapper.searches.exact.label_tables import Engine
from tilewright.mapper.searches.program.compiled_mapspace import Compiled
from tilewright.mapper.searches.program.deferred_costs import count_rooms
from tilewright.mapper.searches.program.program import Compiler
from tilewright.mapper.searches.program.program_tree import grow, look_ahead
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slot_sequence import slot_sequence


def reach_open(problem: Problem, template: Template) -> tuple[Tile, ...] | None:
    """Return tiles for the slots of `template` that keep every rule; None if there are none."""
    rooms = count_rooms(problem, slot_sequence(problem, template), frozenset())
    layout = fields(problem, (), owed=Owed(room=rooms))
    engine = Engine(problem, layout)
    root = grow([Compiler(problem, layout).without_costs(template)])
    look_ahead(root, engine)
    search = DynamicSearch(Compiled(engine, Metrics(problem, layout, ()), root))
    found = search.solve("energy").found
    return None if found is None else found.tiles
