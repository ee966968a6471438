"""Counts to joules and seconds (theory/model.md §5, §6), and area and leakage of components."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tilewright.arch.components.components import Component, Container
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.model.conventions import Conventions
from tilewright.mapper.model.paths.view import Count
from tilewright.mapper.model.tally import EinsumCounts
from tilewright.mapper.model.traffic.network import Hops

Calls = dict[str, float]


@dataclass(slots=True)
class Costs:
    """Energy and latency of one Einsum with all its instances, or of several together.

    `latency`: seconds. `dynamic_energy`, `leak_energy`: joules. `actions`: exact number of calls
    by "einsum/component/tensor/action". `energy_by`: joules by the same key, leakage by
    "einsum/component/leak". `latency_by`: seconds by "einsum/component".
    """

    latency: float = 0.0
    dynamic_energy: float = 0.0
    leak_energy: float = 0.0
    actions: dict[str, Count] = field(default_factory=dict)
    energy_by: dict[str, float] = field(default_factory=dict)
    latency_by: dict[str, float] = field(default_factory=dict)

    def add(self, added: Costs) -> None:
        """Add the costs of another Einsum to these, in place; no key may occur in both."""
        self.latency += added.latency
        self.dynamic_energy += added.dynamic_energy
        self.leak_energy += added.leak_energy
        self.actions |= added.actions
        self.energy_by |= added.energy_by
        self.latency_by |= added.latency_by


def costs_of(tally: EinsumCounts, flat: FlatArch, conventions: Conventions) -> Costs:
    """Return the energy (J) and latency (s) of an Einsum from its counts, over all its instances.

    `tally`: reads, writes, hops and steps of one instance. Latency is the maximum over components
    of their latency rule for the calls of the busiest instance; leakage lasts for that time
    (theory/model.md §5, theory/model.md §6).
    """
    costs = Costs()
    calls = _count_actions(tally, costs)
    instances = tally.view.einsum.n_instances
    name = tally.view.einsum.name
    longest = 0.0
    for component, component_calls in calls.items():
        rule = tally.view.component(component).latency
        seconds = 0.0 if rule is None else rule(component_calls)
        longest = max(longest, seconds)
        costs.latency_by[f"{name}/{component}"] = seconds * instances
    costs.latency = longest * instances
    costs.dynamic_energy = sum(costs.energy_by.values())
    _leak(tally, flat, conventions, costs)
    return costs


def _count_actions(tally: EinsumCounts, costs: Costs) -> dict[str, Calls]:
    """Add the numbers of actions and their energies to `costs`.

    Return {component: {action: calls of its busiest instance}}.
    """
    calls: dict[str, Calls] = {}
    times = tally.view.einsum.n_instances
    for traffic in tally.traffic:
        holder = traffic.holder
        _bill(costs, holder.read_key, traffic.reads * holder.read_scale * times, holder.read_energy)
        _bill(
            costs,
            holder.write_key,
            traffic.writes * holder.write_scale * times,
            holder.write_energy,
        )
        places = float(tally.places.get(holder.component.name, 1))
        component_calls = calls.setdefault(
            holder.component.name, dict.fromkeys(_names(holder.component), 0.0)
        )
        component_calls["read"] = (
            component_calls.get("read", 0.0)
            + float(traffic.unit_reads * holder.read_scale) / places
        )
        if not holder.is_toll:
            writes = float(traffic.unit_writes * holder.write_scale) / places
            component_calls["write"] = component_calls.get("write", 0.0) + writes
    _compute(tally, costs, calls)
    _networks(tally, costs, calls)
    return calls


def _names(component: Component) -> list[str]:
    return [action.name for action in component.actions]


def _bill(costs: Costs, key: str, count: Count, energy: float) -> None:
    if isinstance(count, Fraction) and count.denominator == 1:
        count = count.numerator
    costs.actions[key] = count
    if count:
        costs.energy_by[key] = float(count) * energy


def _compute(tally: EinsumCounts, costs: Costs, calls: dict[str, Calls]) -> None:
    compute = tally.view.compute
    einsum = tally.view.einsum
    scale = Fraction(compute.actions_scale)
    try:
        energy = compute.action("compute").energy
    except KeyError:
        energy = 0.0
    count = tally.operations * einsum.n_instances * scale
    _bill(costs, f"{einsum.name}/{compute.name}/None/compute", count, energy)
    calls[compute.name] = {"compute": float(tally.steps * scale)}


def _networks(tally: EinsumCounts, costs: Costs, calls: dict[str, Calls]) -> None:
    hops_by_network: dict[str, list[Hops]] = {}
    totals: dict[str, tuple[Count, float]] = {}
    for hops in tally.hops:
        key = hops.network.key
        former_calls = totals.get(key, (0, 0.0))[0]
        totals[key] = (
            former_calls + hops.hops * tally.view.einsum.n_instances,
            hops.network.energy,
        )
        hops_by_network.setdefault(hops.network.component.name, []).append(hops)
    for key, (count, energy) in totals.items():
        _bill(costs, key, count, energy)
    for name, all_hops in hops_by_network.items():
        traffic: dict[str, Count] = {}
        for hops in all_hops:
            for dim, count in hops.traffic.items():
                traffic[dim] = traffic.get(dim, 0) + count
        busiest = float(max(traffic.values(), default=0))
        farthest = float(max(hops.farthest for hops in all_hops))
        calls[name] = {"hop": busiest, "max_hops": farthest, "max_link_traffic": busiest}


def _leak(tally: EinsumCounts, flat: FlatArch, conventions: Conventions, costs: Costs) -> None:
    name = tally.view.einsum.name
    leak = leak_power_by(flat, conventions)
    for component in _costly(flat):
        power = leak[component.name] * _gate(component, tally, flat, conventions)
        energy = power * costs.latency
        costs.energy_by[f"{name}/{component.name}/leak"] = energy
        costs.leak_energy += energy


def _gate(
    component: Component, tally: EinsumCounts, flat: FlatArch, conventions: Conventions
) -> float:
    """Return the share of the component's leakage that is not gated (theory/model.md §5.2)."""
    if component.name in flat.gated:
        return 0.0
    share = 1.0
    for ancestor in (*flat.above(component.name), component):
        for dim in ancestor.spatial:
            if dim.power_gateable:
                used = tally.used.get((ancestor.name, dim.name), 1)
                share *= conventions.gate(dim, used)
    grid = flat.grids.get(component.name)
    for dim in flat.component(grid).spatial if grid is not None else ():
        if dim.power_gateable:
            share *= conventions.grid_gate(
                component, dim, tally.used.get((grid or "", dim.name), 1)
            )
    return share


def leak_power_by(flat: FlatArch, conventions: Conventions) -> Mapping[str, float]:
    """Return the leakage in watts of each component, all its instances, nothing gated."""
    return {
        component.name: component.leak_power * conventions.instances(component)
        for component in _costly(flat)
    }


def area_by(flat: FlatArch, conventions: Conventions) -> Mapping[str, float]:
    """Return the area in square metres of each component, all its instances."""
    return {
        component.name: component.area * conventions.instances(component)
        for component in _costly(flat)
    }


def _costly(flat: FlatArch) -> Iterator[Component]:
    """Yield the components that have area and leakage: all but Containers."""
    for component in (*flat.components, *flat.beside):
        if not isinstance(component, Container):
            yield component
