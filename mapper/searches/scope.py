"""Say over which mappings an answer holds, where Einsums share no loops."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arch.components.components import Memory, Network
from tilewright.mapper.mapspace.space import Mapspace

_NOT_FUSED = "; fused mappings are not in it"


_STAND = " whose spatial loops stand right above what their fanout feeds"


def scope_alone(space: Mapspace) -> str:
    """Describe the mappings of one Einsum that were searched."""
    scope = f"mappings of {space.einsum.name} {_tiles([space])}{spatial_placement_text(space)}"
    if space.backed:
        names = ", ".join(sorted(space.backed))
        scope += f" that keep {names} in {_outermost(space)}, unfused with other Einsums"
    return scope


def scope_unfused(spaces: Sequence[Mapspace]) -> str:
    """Describe the unfused mappings of a workload that were searched; one space per Einsum."""
    lanes = "".join(dict.fromkeys(spatial_placement_text(space) for space in spaces))
    return (
        f"unfused mappings {_tiles(spaces)}{lanes}: every tensor that Einsums share is kept whole"
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


def spatial_placement_text(space: Mapspace) -> str:
    """Say where spatial loops stand, if it matters: written lower, they may let tiles shrink."""
    kinds = [
        "memory" if isinstance(component, Memory) else "lanes"
        for component in space.flat.components
        if isinstance(component, Memory) or component.own_fanout > 1
    ]
    if any(isinstance(component, Network) for component in space.flat.components):
        if not space.problem.conventions.spatial_loops_in_file_order:
            return _STAND + ", behind a Network in AccelForge's order (docs/conventions.md)"
        return _STAND + ", in the order of the file's dimensions and the Einsum's variables"
    inner = kinds[kinds.index("memory") + 1 :] if "memory" in kinds else []
    if not space.problem.conventions.loops_sink:
        return ""
    if "memory" not in inner or "lanes" not in inner[inner.index("memory") :]:
        return ""
    return _STAND


def _outermost(space: Mapspace) -> str:
    return next(c.name for c in space.problem.components if isinstance(c, Memory))
