"""Say why nothing fits: which memory, which tensors, by how much."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from tilewright.arch.components import Memory
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.mapspace.fanout import Fan
from tilewright.mapper.mapspace.placement import Template
from tilewright.mapper.mapspace.skeleton import Frame, Reserve, skeleton, value_bits
from tilewright.mapper.mapspace.space import Mapspace


def explain_infeasible(spaces: Sequence[Mapspace], proven: bool) -> InfeasibleMapping:
    """Return the error for mapspaces without a mapping.

    Each template is explained by the memory that the smallest tiles already overfill, or by the
    spatial dimension without a legal choice; the template that misses by least is shown.
    """
    name = spaces[0].einsum.name
    if not proven:
        return InfeasibleMapping(
            f"no mapping of {name} found within the budget", instead="a larger budget"
        )
    reasons = [_reason(space.frame, template) for space in spaces for template in space.templates]
    if not reasons:
        return InfeasibleMapping(_no_placement(spaces[0]), instead=_placement_help(spaces[0]))
    short, text, instead = min(reasons)
    return InfeasibleMapping(
        f"no mapping of {name} fits: {text}", value=None if short == inf else short, instead=instead
    )


def _reason(frame: Frame, template: Template) -> tuple[float, str, str]:
    """Return the missing bits, what is wrong, and the smallest relaxation."""
    slots = skeleton(frame, template)
    for slot in slots:
        if isinstance(slot, Fan) and not slot.choices:
            return (
                inf,
                f"no lanes of {slot.component}.{slot.name} satisfy its loop_bounds",
                f"relax loop_bounds of {slot.component}.{slot.name}",
            )
    worst = (0.0, "", "")
    for memory in frame.components:
        if not isinstance(memory, Memory) or memory.size == inf:
            continue
        needs = {
            slot.tensor: _least_bits(frame, template, slot)
            for slot in slots
            if isinstance(slot, Reserve) and slot.component == memory.name
        }
        missing = sum(needs.values()) - memory.size
        if missing > worst[0]:
            each = ", ".join(f"{bits:g} bit for {tensor}" for tensor, bits in needs.items())
            worst = (
                missing,
                (
                    f"{memory.name} needs at least {each}, together {sum(needs.values()):g} bit;"
                    f" its size is {memory.size:g}, {missing:g} too little"
                ),
                f"{memory.name}.size: {sum(needs.values()):g}, or keep less there",
            )
    if worst[0] > 0:
        return worst
    return (
        inf,
        (
            "every placement fits with the smallest tiles, but not together with the lanes that"
            " min_usage asks for, tile_shape, no_refetch_from_above or no_resend_to_below"
        ),
        "relax one of these constraints",
    )


def _least_bits(frame: Frame, template: Template, slot: Reserve) -> float:
    """Return the bits of the smallest tile: one value; all of the tensor in its first holder."""
    access = frame.einsum.access(slot.tensor)
    backing = any(
        h.backing and (h.tensor, h.component) == (slot.tensor, slot.component)
        for h in template.holders
    )
    tile = frame.einsum.bounds if backing else dict.fromkeys(frame.einsum.bounds, 1)
    return access.tile_size(tile) * value_bits(frame, slot)


def _no_placement(space: Mapspace) -> str:
    kept = f", with {', '.join(sorted(space.backed))} in the outermost memory" * bool(space.backed)
    return f"keep, may_keep and back leave no place for every tensor of {space.einsum.name}{kept}"


def _placement_help(space: Mapspace) -> str:
    if space.backed:
        return "search with fusion, or let the outermost memory keep them (may_keep: All)"
    return "a memory whose keep or may_keep names each tensor"
