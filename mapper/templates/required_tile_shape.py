"""The `tile_shape` rules of an architecture: which tiles of a template they limit."""

from __future__ import annotations

from tilewright.arch.components.components import Comparison
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Slot


def required_tile_shape(problem: Problem, template: Template, slot: Slot) -> tuple[Comparison, ...]:
    """Return the `tile_shape` conditions on the tile above a slot.

    They apply where `slot` is the fill (Storage node) of the first holder of its memory in the
    template; the result is empty elsewhere and under conventions that ignore tile_shape. Each
    Comparison limits the tile extents, in values, of some rank variables. A template is a mapping
    without its loops.
    """
    if not isinstance(slot, Fill) or not problem.conventions.honours_tile_shape:
        return ()
    first = next(h for h in template.holders if h.component == slot.component)
    if first.tensor != slot.tensor:
        return ()
    return template.placement.rules_of(slot.component).tile_shape
