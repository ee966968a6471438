"""Order the spatial loops of a template that stand next to each other.

`slot_sequence.py` puts the dimensions of each fanout above the first holder below it, in the order
of the file. Only behind a Network the order has a cost (theory/lattice.md §2.4). The variables of
one dimension stand in the order of the Einsum.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops


def ordered_dimensions(problem: Problem, slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots of a template with neighbouring dimensions in the order of the conventions.

    By default this is the order of the file, in which Einsums can share the loops. AccelForge
    writes each sequence of dimensions behind a network with the last dimension first; elsewhere
    the order costs nothing. A slot is a place of a template for loops, a fill or a reserved tile.
    """
    if problem.conventions.spatial_loops_in_file_order:
        return list(slots)
    ordered: list[Slot] = []
    for _, group in groupby(slots, lambda slot: isinstance(slot, SpatialLoops)):
        together = list(group)
        behind = any(_is_behind_network(problem, slot) for slot in together)
        ordered += together[::-1] if behind else together
    return ordered


def _is_behind_network(problem: Problem, slot: Slot) -> bool:
    return isinstance(slot, SpatialLoops) and problem.level(slot.component) >= problem.first_network
