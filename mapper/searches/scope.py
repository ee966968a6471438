"""Say over which mappings an answer holds, where Einsums share no loops."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arch.components import Memory
from tilewright.mapper.mapspace.space import Mapspace

_NOT_FUSED = "; fused mappings are not in it"


def scope_alone(space: Mapspace) -> str:
    """Describe the mappings of one Einsum that were searched."""
    scope = f"mappings of {space.einsum.name} {_tiles([space])}{_left_out(space)}"
    if space.backed:
        names = ", ".join(sorted(space.backed))
        scope += f" that keep {names} in {_outermost(space)}, unfused with other Einsums"
    return scope


def scope_unfused(spaces: Sequence[Mapspace]) -> str:
    """Describe the unfused mappings of a workload that were searched; one space per Einsum."""
    slides = "".join(dict.fromkeys(_left_out(space) for space in spaces))
    return (
        f"unfused mappings {_tiles(spaces)}{slides}: every tensor that Einsums share is kept whole"
        f" in the outermost memory, {_outermost(spaces[0])}{_NOT_FUSED}"
    )


def scope_both(fused: str, alone: str) -> str:
    """Describe fused and unfused mappings that were searched apart from each other."""
    return f"{fused}; together with {alone.removesuffix(_NOT_FUSED)}"


def _tiles(spaces: Sequence[Mapspace]) -> str:
    """Say which tiles the searched mappings have."""
    names = sorted(set().union(*(space.uneven for space in spaces)))
    if not names:
        return "with even tiles"
    listed = ", ".join(names)
    return f"with at most one uneven loop per variable ({listed}) and even tiles otherwise"


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
