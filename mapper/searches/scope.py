"""Say over which mappings an answer holds, where Einsums share no loops."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arch.components import Memory
from tilewright.mapper.mapspace.space import Mapspace


def scope_alone(space: Mapspace) -> str:
    """Describe the mappings of one Einsum that were searched."""
    scope = f"mappings of {space.einsum.name} with even tiles{_left_out(space)}"
    if space.backed:
        names = ", ".join(sorted(space.backed))
        scope += f" that keep {names} in {_outermost(space)}, unfused with other Einsums"
    return scope


def scope_unfused(spaces: Sequence[Mapspace]) -> str:
    """Describe the unfused mappings of a workload that were searched; one space per Einsum."""
    slides = "".join(dict.fromkeys(_left_out(space) for space in spaces))
    return (
        f"unfused mappings with even tiles{slides}: every tensor that Einsums share is kept whole"
        f" in the outermost memory, {_outermost(spaces[0])}; fused mappings are not in it"
    )


def _left_out(space: Mapspace) -> str:
    """Say what the search leaves out where the default model lets tiles shrink further.

    There, neighbouring holders may slide together over a loop, and a tile may stream past a holder
    of a deeper memory that stands between it and its loop.
    """
    if space.conventions == "accelforge":
        return ""
    partial = [
        access.tensor
        for access in space.einsum.accesses
        if any(access.relevance(v) == "partial" for v in space.einsum.bounds)
    ]
    limits = []
    if len(partial) >= 2:
        limits.append(f"no two of {', '.join(partial)} slide over the same loop")
    if sum(isinstance(component, Memory) for component in space.flat.components) >= 3:
        limits.append("no tile streams past a holder of a deeper memory")
    return " in which " + " and ".join(limits) if limits else ""


def _outermost(space: Mapspace) -> str:
    return next(c.name for c in space.frame.components if isinstance(c, Memory))
