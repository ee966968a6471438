"""Whether a template has a mapping when its tiles depend on lanes that are still to be chosen.

The dynamic program over labels, of which only the bits in use are told apart: no list of all lanes.
"""

from __future__ import annotations

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.frame import Frame
from tilewright.mapper.mapspace.placement import Template
from tilewright.mapper.mapspace.skeleton import skeleton
from tilewright.mapper.searches.compiled import Compiled
from tilewright.mapper.searches.deferrals import count_rooms
from tilewright.mapper.searches.dynamic import DynamicSearch
from tilewright.mapper.searches.fields import Owed, fields
from tilewright.mapper.searches.metrics import Metrics
from tilewright.mapper.searches.program import Compiler
from tilewright.mapper.searches.tables import Engine
from tilewright.mapper.searches.trie import grow, look_ahead


def reach_open(frame: Frame, template: Template) -> tuple[Tile, ...] | None:
    """Return tiles for the slots of `template` that keep every rule; None if there are none."""
    rooms = count_rooms(frame, skeleton(frame, template), frozenset())
    layout = fields(frame, (), owed=Owed(room=rooms))
    engine = Engine(frame, layout)
    root = grow([Compiler(frame, layout).without_costs(template)])
    look_ahead(root, engine)
    search = DynamicSearch(Compiled(engine, Metrics(frame, layout, ()), root))
    found = search.solve("energy").found
    return None if found is None else found.tiles
