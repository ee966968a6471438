"""A flattened architecture: the path from the root to one Compute, and the rest beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilewright.arch.components.components import Component, Compute
from tilewright.arch.errors import SpecError
from tilewright.arch.names import did_you_mean

if TYPE_CHECKING:
    import networkx as nx


def instances(component: Component) -> int:
    """Number of physical instances: its own fanout and those above count."""
    return component.parent_fanout * component.own_fanout * component.physical_fanout


def instances_accelforge(component: Component) -> int:
    """Number of instances as AccelForge counts area and leakage: the own fanout does not count.

    Inside an Array the whole grid counts, however many places the component takes.
    """
    return component.parent_fanout * component.grid_fanout


@dataclass(frozen=True)
class FlatArch:
    """One path to one Compute, evaluated for one Einsum (or for none).

    `components` is the path, top-down, the Compute last; `beside` are the other components of the
    architecture, in file order: they do not work for this Einsum here, but have area and leak.
    `disabled` names those beside it that are disabled for the Einsum. `gated` names components
    that a Fork switches off while this Compute runs. `ancestors` holds the names above each
    component, top-down; `grids` the Array of each component inside of one. `unresolved` names
    fields that wait for an Einsum.
    """

    compute: Compute
    components: tuple[Component, ...]
    beside: tuple[Component, ...] = ()
    einsum: str | None = None
    disabled: frozenset[str] = frozenset()
    gated: frozenset[str] = frozenset()
    ancestors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    grids: Mapping[str, str] = field(default_factory=dict)
    unresolved: tuple[str, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, Component]:
        return {component.name: component for component in (*self.components, *self.beside)}

    def component(self, name: str) -> Component:
        """Return the component called `name`, on the path or beside it; SpecError if none is."""
        component = self._by_name.get(name)
        if component is None:
            raise SpecError(
                f"the architecture has no component {name}",
                instead=did_you_mean(name, self._by_name) or None,
            )
        return component

    def above(self, name: str) -> tuple[Component, ...]:
        """Return the components above `name`, top-down."""
        self.component(name)
        return tuple(self._by_name[ancestor] for ancestor in self.ancestors.get(name, ()))

    def path_to(self, name: str) -> tuple[Component, ...]:
        """Return the path from the root down to `name`, including it."""
        return (*self.above(name), self.component(name))

    def instances(self, name: str) -> int:
        """Return how many physical instances of a component there are."""
        return instances(self.component(name))

    @property
    def area_by_component(self) -> dict[str, float]:
        """m² of all instances of each component, own fanout counted."""
        return {c.name: c.area * instances(c) for c in self._physical()}

    @property
    def area_by_component_accelforge(self) -> dict[str, float]:
        """m² by component in AccelForge's convention, own fanout not counted."""
        return {c.name: c.area * instances_accelforge(c) for c in self._physical()}

    @property
    def leak_power_by_component(self) -> dict[str, float]:
        """Watt of all instances of each component, own fanout counted, nothing gated."""
        return {c.name: c.leak_power * instances(c) for c in self._physical()}

    @property
    def leak_power_by_component_accelforge(self) -> dict[str, float]:
        """Watt by component in AccelForge's convention, own fanout not counted."""
        return {c.name: c.leak_power * instances_accelforge(c) for c in self._physical()}

    @property
    def total_area(self) -> float:
        """m² of all instances of all components, own fanouts counted."""
        return self._total(self.area_by_component, "area")

    @property
    def total_area_accelforge(self) -> float:
        """m² in AccelForge's convention."""
        return self._total(self.area_by_component_accelforge, "area")

    @property
    def total_leak_power(self) -> float:
        """Watt of all instances of all components, own fanouts counted, nothing gated."""
        return self._total(self.leak_power_by_component, "leak_power")

    @property
    def total_leak_power_accelforge(self) -> float:
        """Watt in AccelForge's convention, nothing gated."""
        return self._total(self.leak_power_by_component_accelforge, "leak_power")

    @cached_property
    def graph(self) -> nx.DiGraph[Any]:
        """The architecture as a directed graph, from above to below.

        Nodes are component names with `component` (typed) and `on_path`; edges carry `fanout`, the
        number of instances of the lower component under one of the upper.
        """
        import networkx

        graph: nx.DiGraph[Any] = networkx.DiGraph()
        on_path = {component.name for component in self.components}
        for component in self._physical():
            graph.add_node(component.name, component=component, on_path=component.name in on_path)
        for component in self._physical():
            ancestors = self.ancestors.get(component.name, ())
            if ancestors:
                fanout = component.own_fanout * component.physical_fanout
                graph.add_edge(ancestors[-1], component.name, fanout=fanout)
        return graph

    @property
    def usable_graph(self) -> nx.DiGraph[Any]:
        """The part of `graph` that the Einsum can use: the path."""
        import networkx

        names = [component.name for component in self.components]
        usable: nx.DiGraph[Any] = networkx.DiGraph(self.graph.subgraph(names))
        for upper, lower in zip(self.components, self.components[1:], strict=False):
            if not usable.has_edge(upper.name, lower.name):  # a disabled one stood between them
                fanout = instances(lower) // (instances(upper) // upper.physical_fanout)
                usable.add_edge(upper.name, lower.name, fanout=fanout)
        return usable

    def _physical(self) -> tuple[Component, ...]:
        return (*self.components, *self.beside)

    def _total(self, by_component: Mapping[str, float], what: str) -> float:
        total = math.fsum(by_component.values())
        if math.isnan(total):
            waiting = sorted(name for name, value in by_component.items() if math.isnan(value))
            raise SpecError(
                f"the {what} of {', '.join(waiting)} depends on the Einsum",
                instead="flatten the architecture for an Einsum",
            )
        return total
