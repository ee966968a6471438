"""Recognise templates that a search for energy or latency may leave out: another is never worse.

Where hierarchies are open, a holder of an outer memory may stand below one of a deeper memory, so
that loops between the two shrink its tile. If its memory has capacity for everything kept there,
the holder may as well stand above: it is filled no more often, and nothing else changes. The usage
of that memory grows, so nothing is left out where usage counts (`crowded`).

A tile with gaps is another matter: of `A[2*m]` a tile of m = 2 has three values, two tiles of m = 1
have one each.
"""

from __future__ import annotations

from tilewright.mapper.templates.adjacent_holders import overflowing
from tilewright.mapper.templates.placement import Holder, Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.workload.einsum import TensorAccess


def is_needless(problem: Problem, template: Template, crowded: frozenset[str]) -> bool:
    """Tell whether a search for least energy or latency may leave out a template.

    True if some holder stands below a holder of a deeper memory, and the template with the first
    such holder moved up into the order of the memory hierarchy never costs more. Never true with
    networks, for a copy Einsum, under no_resend_to_below or tile_shape of that memory, for a tensor
    whose tiles may have gaps, or if the memory cannot hold all its tensors whole or is among
    `crowded` (names of memories that may be short of capacity). A template is a mapping without its
    loops.
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
    if _may_have_gaps(problem.einsum.access(holder.tensor)):
        return False
    return holder.component not in crowded | overflowing(problem, template)


def _may_have_gaps(access: TensorAccess) -> bool:
    """Return whether a tile may have values that its iterations do not touch.

    They touch all if each index is a sum of rank variables, and no two have one in common.
    """
    names = [name for _, form in access.projection for name, _ in form.terms]
    factors = [abs(factor) for _, form in access.projection for _, factor in form.terms]
    return len(set(names)) < len(names) or any(factor > 1 for factor in factors)


def _first_out_of_order(problem: Problem, template: Template) -> Holder | None:
    """Return the first holder that stands below a holder of a deeper memory; None if there is none.

    Backing holders, on top of all, do not count.
    """
    deepest = -1
    for holder in template.holders:
        if holder.backing:
            continue
        level = problem.level(holder.component)
        if level < deepest:
            return holder
        deepest = level
    return None
