"""Templates that no search for little energy or time needs: another template is never worse.

Where hierarchies are open, a holder of an outer memory may stand below one of a deeper memory, so
that loops between the two shrink its tile. If its memory has capacity for everything kept there,
the holder may as well stand above: it is filled no more often, and nothing else changes. The usage
of that memory grows, so nothing is left out where usage counts (`crowded`).
"""

from __future__ import annotations

from tilewright.mapper.templates.adjacent_holders import overflowing
from tilewright.mapper.templates.placement import Holder, Template
from tilewright.mapper.templates.problem import Problem


def is_needless(problem: Problem, template: Template, crowded: frozenset[str]) -> bool:
    """Tell whether a search for least energy or latency may leave out a template.

    True if some holder stands below a holder of a deeper memory, and the template with the first
    such holder moved up into the order of the memory hierarchy never costs more. Never true with
    networks, for a copy Einsum, under no_resend_to_below or tile_shape of that memory, or if the
    memory cannot hold all its tensors whole or is among `crowded` (names of memories that may be
    short of capacity). A template is a mapping without its loops.
    """
    # the costs of networks and copies depend on all loops above lanes
    if problem.has_networks or problem.einsum.is_copy:
        return False
    holder = _first_out_of_order(problem, template)
    if holder is None:
        return False
    rules = template.placement.rules_of(holder.component)
    if holder.tensor in rules.no_resend_to_below:
        return False
    if rules.tile_shape and problem.conventions.honours_tile_shape:
        return False
    return holder.component not in crowded | overflowing(problem, template)


def _first_out_of_order(problem: Problem, template: Template) -> Holder | None:
    """Return the first holder below a holder of a deeper memory; backing holders stand on top."""
    deepest = -1
    for holder in template.holders:
        if holder.backing:
            continue
        level = problem.level(holder.component)
        if level < deepest:
            return holder
        deepest = level
    return None
