"""One Einsum on one flattened architecture, ready to be searched."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tilewright.arch.components import Component, Compute, Memory, Network, TensorHolder
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.mapspace.placement import Template, templates
from tilewright.mapper.mapspace.skeleton import Frame, Rules
from tilewright.mapper.model.conventions import Conventions
from tilewright.mapper.search.errors import UnsupportedFeature
from tilewright.mapper.search.fields import matters
from tilewright.mapper.search.metrics import Leak

if TYPE_CHECKING:
    from tilewright.arch.flat import FlatArch

_WHERE_ELSE = "use the exhaustive or the random search, which ask the model"


@dataclass(frozen=True)
class Problem:
    """`frame` and the templates over it; `leaks` and `compulsory` (seconds) bound the metrics."""

    flat: FlatArch
    frame: Frame
    templates: tuple[Template, ...]
    leaks: tuple[Leak, ...]
    conventions: Conventions


def make_problem(
    flat: FlatArch, einsum: Einsum, conventions: Conventions, backed: frozenset[str]
) -> Problem:
    """Gather what a search needs. `backed`: tensors that the outermost memory must keep."""
    rules = Rules(
        tile_shape=conventions.name != "accelforge",  # that tool parses it and then ignores it
        refetch_spatial=conventions.name != "accelforge",
    )
    frame = Frame(einsum, flat.components, rules)
    holders = [c for c in flat.components if isinstance(c, TensorHolder)]
    found = tuple(templates(holders, einsum, backed))
    return Problem(flat, frame, found, leaks_of(flat, conventions), conventions)


def leaks_of(flat: FlatArch, conventions: Conventions) -> tuple[Leak, ...]:
    """Return what leaks while the Einsum runs (accelforge.md §2.5)."""
    leaks = []
    for component in (*flat.components, *flat.beside):
        watts = component.leak_power * conventions.instances(component)
        if watts == 0 or component.name in flat.gated:
            continue
        gates = tuple(
            (upper.name, dim.name, conventions.gate(dim, 1))
            for upper in flat.path_to(component.name)
            for dim in upper.spatial
            if dim.power_gateable
        )
        leaks.append(Leak(watts, gates))
    return tuple(leaks)


def refuse_unsupported(problem: Problem) -> None:
    """Raise UnsupportedFeature for what the dynamic program does not model."""
    if problem.frame.einsum.is_copy:
        raise UnsupportedFeature(
            f"{problem.frame.einsum.name} is a copy", instead=_WHERE_ELSE
        )
    for component in problem.frame.components:
        if isinstance(component, Network):
            raise UnsupportedFeature(
                f"{component.name} is a Network: its hops depend on where tiles meet",
                instead=_WHERE_ELSE,
            )
        if component.physical_fanout > 1:
            raise UnsupportedFeature(
                f"{component.name} is spread over the grid of an Array", instead=_WHERE_ELSE
            )


def compulsory_latency(problem: Problem) -> float:
    """Return seconds that moving every tensor once out of, or into, its first memory takes."""
    frame = problem.frame
    slowest = 0.0
    for level, component in enumerate(frame.components):
        if isinstance(component, Memory) and component.latency is not None:
            calls = {action.name: 0.0 for action in component.actions}
            for access in frame.einsum.accesses:
                if _always_backed(problem, access.tensor, component):
                    name = "write" if access.output else "read"
                    calls[name] += _calls(frame, component, access.tensor, name)
            lanes = prod(c.own_fanout for c in frame.components[: level + 1])
            least = {name: count / lanes for name, count in calls.items()}
            if _rises(component):
                slowest = max(slowest, component.latency(least))
    return slowest


def _always_backed(problem: Problem, tensor: str, component: Component) -> bool:
    return all(
        any(h.backing and (h.tensor, h.component) == (tensor, component.name) for h in t.holders)
        for t in problem.templates
    )


def _calls(frame: Frame, component: Component, tensor: str, name: str) -> float:
    action = next((a for a in component.actions if a.name == name), None)
    if action is None:
        return 0.0
    size = frame.einsum.access(tensor).tile_size(frame.einsum.bounds)
    return float(size * component.actions_scale / action.values_per_action[tensor])


def _rises(component: Component) -> bool:
    """Probe that the latency rule does not fall with more calls."""
    assert component.latency is not None
    assert not isinstance(component, Compute)
    names = [action.name for action in component.actions if matters(component, action.name)]
    counts = (0.0, 1.0, 1e3, 1e9)
    values = [component.latency({a.name: n for a in component.actions}) for n in counts]
    return values == sorted(values) and bool(names)
