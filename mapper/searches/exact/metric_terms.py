"""Read off a mapspace what metrics need: leakage, time of first moves, unsupported features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from tilewright.arch.components.components import Component, Compute, Memory, Network
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.conventions import Conventions, conventions_called
from tilewright.mapper.model.occupancy.distributed import in_proportion
from tilewright.mapper.searches.exact.label_fields import Gate, Leak, affects_latency
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.workload.einsum import Affine, TensorAccess
from tilewright.mapper.workload.errors import UnsupportedFeature

_INSTEAD = "from Python, search(..., method=RandomSearch(samples=…, seed=…)) asks the model itself"


def leaks_of(flat: FlatArch, conventions: str) -> tuple[Leak, ...]:
    """Return the watts that each component leaks while the Einsum runs, with its power gates.

    Components without leakage or gated as a whole are left out (theory/model.md §5.2).
    `conventions`: "default" or "accelforge".
    """
    chosen = conventions_called(conventions)
    leaks = []
    for component in (*flat.components, *flat.beside):
        watts = component.leak_power * chosen.instances(component)
        if watts == 0 or component.name in flat.gated:
            continue
        gates = [
            ((upper.name, dim.name, 0), chosen.gate(dim, 1))
            for upper in flat.path_to(component.name)
            for dim in upper.spatial
            if dim.power_gateable
        ]
        leaks.append(Leak(watts, (*gates, *_grid_gates(flat, component, chosen))))
    return tuple(leaks)


def _grid_gates(
    flat: FlatArch, component: Component, chosen: Conventions
) -> Iterator[tuple[Gate, float]]:
    """Yield the power gates of a component in an Array: (gate, share that leaks per used lane).

    By convention the lanes of the Array's grid count, or the places of the component itself.
    """
    grid = flat.grids.get(component.name)
    for dim in flat.component(grid).spatial if grid is not None else ():
        if not dim.power_gateable:
            continue
        if chosen.places is in_proportion:
            yield (grid or "", dim.name, 0), chosen.grid_gate(component, dim, 1)
            continue
        places = prod(
            array_dim.fanout
            for array_dim in component.physical_spatial
            if array_dim.name == dim.name
        )
        if places > 1:
            yield (grid or "", dim.name, places), 1 / places


def refuse_unsupported(problem: Problem, networks: bool = False, arrays: bool = False) -> None:
    """Raise UnsupportedFeature for what the dynamic program does not model.

    That is a copy Einsum, a Network unless `networks`, and a memory spread over an Array unless
    `arrays` (True: the calling search models these).
    """
    if problem.einsum.is_copy:
        raise UnsupportedFeature(f"{problem.einsum.name} is a copy", instead=_INSTEAD)
    for component in problem.components:
        if isinstance(component, Network) and not networks:
            raise UnsupportedFeature(
                f"{component.name} is a Network: this search does not count its hops",
                instead=_INSTEAD,
            )
        if component.physical_fanout > 1 and not arrays:
            raise UnsupportedFeature(
                f"{component.name} is spread over the grid of an Array", instead=_INSTEAD
            )


BackingHolders = frozenset[tuple[str, str]]  # (tensor, memory) of holders above all loops


def backing_holders(template: Template) -> BackingHolders:
    """Return the holders of a template above all loops. A template has no loops of its own."""
    return frozenset((h.tensor, h.component) for h in template.holders if h.backing)


def seconds_of_first_moves(space: Mapspace, tops: Sequence[BackingHolders]) -> float:
    """Return the seconds that moving tensors once out of, or into, their first memories takes.

    `tops`: for each template or placement the pairs (tensor, memory) of holders above all loops;
    only pairs in all of them count. A lower bound of the latency of one instance. A placement says
    which memory keeps which tensors; a template is a mapping without its loops.
    """
    problem, slowest = space.problem, 0.0
    always = frozenset[tuple[str, str]]().union(*tops[:1]).intersection(*tops)
    for level, component in enumerate(problem.components):
        if not isinstance(component, Memory) or component.latency is None:
            continue
        if not latency_rises(component):
            continue
        calls = _first_move_calls(problem, component, always)
        if not any(calls.values()):  # it may hold nothing, and takes no time then
            continue
        lanes = prod(c.own_fanout for c in problem.components[: level + 1])
        lanes *= component.physical_fanout
        least_calls = {name: count / lanes for name, count in calls.items()}
        slowest = max(slowest, component.latency(least_calls))
    return slowest


def _first_move_calls(
    problem: Problem, memory: Memory, holders: BackingHolders
) -> dict[str, float]:
    """Return the calls of each action of a memory that moves once what it holds in `holders`."""
    calls = {action.name: 0.0 for action in memory.actions}
    for access in problem.einsum.accesses:
        name = "write" if access.output else "read"
        if name in calls and (access.tensor, memory.name) in holders:
            values = memory.action(name).values_per_action[access.tensor]
            size = touched_values(access, problem.einsum.bounds)
            calls[name] += float(size * memory.actions_scale / values)
    return calls


def touched_values(access: TensorAccess, bounds: Mapping[str, int]) -> int:
    """Return how many values of a tensor an Einsum uses at least.

    Strides may skip some: `A[2*m]` with m = 4 uses 4 of 7 values. Zeros of padded ranks do not
    count. `bounds`: rank variable to iterations.
    """
    size = 1
    seen: set[str] = set()
    clipped = dict(access.clipped)
    for number, (_, form) in enumerate(access.projection):
        names = {name for name, _ in form.terms}
        if not names & seen:  # a variable seen before may only repeat a diagonal
            size *= _positions(form, bounds, clipped.get(number))
        seen |= names
    return size


def _positions(form: Affine, bounds: Mapping[str, int], size: int | None) -> int:
    """Count the distinct values of an affine form over the whole iteration space.

    `bounds`: of the rank variables; `size`: count those from 0 up to it, if given. Example: p + r
    with bounds 8 and 3 has 10.
    """
    if len(form.terms) <= 1 and size is None:
        return prod(bounds[name] for name, _ in form.terms)
    hit = np.ones(1, bool)
    for name, factor in sorted(form.terms, key=lambda term: bounds[term[0]]):
        step, count = abs(factor), bounds[name]
        wider = np.zeros(len(hit) + step * (count - 1), bool)
        for offset in np.flatnonzero(hit).tolist():
            wider[offset : offset + step * (count - 1) + 1 : step] = True
        hit = wider
    if size is not None:
        least = form.ends(bounds)[0]
        hit = hit[max(0, -least) : max(0, size - least)]
    return int(hit.sum())


def latency_rises(component: Component) -> bool:
    """Tell whether probes of a component's latency never fall with more calls, and depend on calls.

    The component must have a latency rule and be no Compute.
    """
    assert component.latency is not None
    assert not isinstance(component, Compute)
    names = [action.name for action in component.actions if affects_latency(component, action.name)]
    counts = (0.0, 1.0, 1e3, 1e9)
    values = [component.latency({a.name: n for a in component.actions}) for n in counts]
    return values == sorted(values) and bool(names)
