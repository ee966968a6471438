"""Templates that no search for little energy or time needs: another one is never worse.

Where hierarchies are open, a holder of an outer memory may stand below one of a deeper memory, so
that loops between the two make it keep less at a time. If its memory has room for all that is kept
there, it may as well stand above: it is filled no more often, and nothing else changes. Usage of
that memory grows, so where usage counts (`crowded`) nothing is left out.
"""

from __future__ import annotations

from tilewright.mapper.templates.adjacent_holders import overflowing
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem


def is_needless(problem: Problem, template: Template, crowded: frozenset[str]) -> bool:
    """Tell whether the template with its first holder out of order put in order is never worse."""
    if (
        problem.has_networks or problem.einsum.is_copy
    ):  # their costs depend on all loops above lanes
        return False
    deepest = -1
    for holder in template.holders:
        if holder.backing:
            continue  # these stand on top in any case
        level = problem.level(holder.component)
        if level >= deepest:
            deepest = level
            continue
        rules = template.placement.rules_of(holder.component)
        free = holder.tensor not in rules.no_resend_to_below
        free = free and not (rules.tile_shape and problem.conventions.honours_tile_shape)
        return free and holder.component not in crowded | overflowing(problem, template)
    return False
