"""Say which restrictions hold for searches without fusion, and for both kinds together.

A restriction is a condition that all searched mappings meet. fusion/fused_answer.py has those of
fused searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.arch.components.components import Memory, Network
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.restrictions import (
    ACCELFORGE_NETWORK_ORDER,
    ADJACENT_SPATIAL_LOOPS,
    BACKED_IN_OUTERMOST,
    FILE_NETWORK_ORDER,
    ONE_IMPERFECT_LOOP,
    PERFECT_FACTORS,
    STANDALONE_IMPERFECT,
    UNFUSED,
    Restriction,
    Restrictions,
    only_for,
)
from tilewright.mapper.workload.einsum import Einsum

_ALWAYS_PERFECT = 2  # values: every tile of a rank variable with at most so many divides it


def einsum_restrictions(space: Mapspace) -> Restrictions:
    """Return the conditions that all mappings meet in a search of one Einsum alone.

    A certificate holds among such mappings: perfect factors or few uneven loops, places of spatial
    loops, shared tensors in the outermost memory.
    """
    restrictions = (*_tile_restrictions([space]), *spatial_restrictions([space]))
    if not space.backed:
        return restrictions
    backed = BACKED_IN_OUTERMOST(
        tensors=sorted(space.backed), memory=space.problem.outermost_memory
    )
    return (*restrictions, backed)


def unfused_restrictions(spaces: Sequence[Mapspace]) -> Restrictions:
    """Return the conditions that all mappings meet in a search without fusion.

    `spaces`: one mapspace per Einsum, not empty.
    """
    return (
        *_tile_restrictions(spaces),
        *spatial_restrictions(spaces),
        UNFUSED(memory=spaces[0].problem.outermost_memory),
    )


def restrictions_of_both(fused: Restrictions, unfused: Restrictions) -> Restrictions:
    """Return the conditions of two searches together, one with fusion and one without.

    A mapping with fusion meets those of `fused`, one without those of `unfused`; those that only
    one kind must meet are marked so.
    """
    fused_only = [
        each if each.kind.concerns_fusion else only_for("fused", each)
        for each in fused
        if each not in unfused
    ]
    unfused_only = [
        only_for("unfused", each)
        for each in unfused
        if each not in fused and each.kind is not UNFUSED
    ]
    return (*(each for each in fused if each in unfused), *fused_only, *unfused_only)


def with_standalone_imperfect(restrictions: Restrictions) -> Restrictions:
    """Return the conditions if standalone Einsums of fused mappings may be uneven.

    Perfect factors for fused mappings become "imperfect factors only in standalone Einsums".
    """
    perfect = only_for("fused", PERFECT_FACTORS())
    return tuple(STANDALONE_IMPERFECT() if each == perfect else each for each in restrictions)


def perfect_factors(einsums: Iterable[Einsum]) -> Restrictions:
    """Return the condition that each tile divides the tile above; none if that is always so.

    It is always so if no rank variable has more than 2 values.
    """
    bounds = [bound for einsum in einsums for bound in einsum.bounds.values()]
    return (PERFECT_FACTORS(),) if max(bounds, default=1) > _ALWAYS_PERFECT else ()


def spatial_restrictions(spaces: Iterable[Mapspace]) -> Restrictions:
    """Return the conditions on where spatial loops stand that all searched mappings meet.

    Part of what a certificate says. Only those that matter on these hardware paths, each once.
    """
    return tuple(dict.fromkeys(each for space in spaces for each in _spatial_restrictions(space)))


def _tile_restrictions(spaces: Sequence[Mapspace]) -> Restrictions:
    """Return the restrictions on tiles: perfect factors, or at most one imperfect loop."""
    uneven = {v for space in spaces for v in space.uneven}
    if not uneven:
        return perfect_factors(space.einsum for space in spaces)
    bounds = [(v, n) for space in spaces for v, n in space.einsum.bounds.items()]
    if not any(bound > _ALWAYS_PERFECT for _, bound in bounds):
        return ()
    return (ONE_IMPERFECT_LOOP(variables=sorted(uneven)),)


def _spatial_restrictions(space: Mapspace) -> Sequence[Restriction]:
    """Return the restrictions on where spatial loops stand in the mappings of one mapspace.

    Empty where standing lower could not make a tile smaller.
    """
    if any(isinstance(component, Network) for component in space.flat.components):
        in_file_order = space.problem.conventions.spatial_loops_in_file_order
        order = FILE_NETWORK_ORDER() if in_file_order else ACCELFORGE_NETWORK_ORDER()
        return (ADJACENT_SPATIAL_LOOPS(), order)
    if not space.problem.conventions.loops_sink or not _has_lanes_below_two_memories(space):
        return ()
    return (ADJACENT_SPATIAL_LOOPS(),)


def _has_lanes_below_two_memories(space: Mapspace) -> bool:
    """Tell whether a fanout follows the second or a deeper memory on the path.

    Its spatial loops could then stand above or below holders of that memory.
    """
    memories = 0
    for component in space.flat.components:
        if isinstance(component, Memory):
            memories += 1
        elif component.own_fanout > 1 and memories >= 2:
            return True
    return False
