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
    """Return how many copies of a component exist: by its own fanout and by those above it.

    Inside an Array, whose memories share one grid, it is one per place that the component takes.
    """
    return component.parent_fanout * component.own_fanout * component.physical_fanout


def instances_accelforge(component: Component) -> int:
    """Return the number of instances as AccelForge counts area and leakage: without the own fanout.

    Inside an Array the whole grid counts, however many places the component takes.
    """
    return component.parent_fanout * component.grid_fanout


@dataclass(frozen=True)
class FlatArch:
    """An architecture for one Einsum: the path of components from the root to one Compute.

    `compute`: that Compute; `components`: the path, top-down, the Compute last; `beside`: the other
    components, in file order, which do no work here but have area and leak; `einsum`: its name,
    None if evaluated for none; `disabled`: components that are switched off for the Einsum;
    `gated`: those that a Fork switches off while this Compute runs; `ancestors`: names above each
    component, top-down; `grids`: the Array of each component inside of one; `unresolved`: fields
    that have no value without an Einsum.
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
        """Return the component called `name`, on the path or beside it.

        Raises SpecError, with close names, if there is none.
        """
        component = self._by_name.get(name)
        if component is None:
            raise SpecError(
                f"the architecture has no component {name}",
                instead=did_you_mean(name, self._by_name) or None,
            )
        return component

    def above(self, name: str) -> tuple[Component, ...]:
        """Return the components above `name`, top-down; SpecError if there is no such component."""
        self.component(name)
        return tuple(self._by_name[ancestor] for ancestor in self.ancestors.get(name, ()))

    def path_to(self, name: str) -> tuple[Component, ...]:
        """Return the components from the root down to `name`, itself included.

        Raises SpecError if there is no such component.
        """
        return (*self.above(name), self.component(name))

    def instances(self, name: str) -> int:
        """Return how many physical instances of a component there are.

        Raises SpecError if there is no such component.
        """
        return instances(self.component(name))

    @property
    def area_by_component(self) -> dict[str, float]:
        """Area in m² of all copies of each component, those by its own fanout included."""
        return {c.name: c.area * instances(c) for c in self._physical()}

    @property
    def leak_power_by_component(self) -> dict[str, float]:
        """Leakage in W of all copies of each component, those by its own fanout included.

        Nothing counts as gated (switched off).
        """
        return {c.name: c.leak_power * instances(c) for c in self._physical()}

    @property
    def total_area(self) -> float:
        """Area in m² of all copies of all components, those by their own fanouts included.

        Raises SpecError if an area depends on the Einsum and there is none.
        """
        return self._total(self.area_by_component, "area")

    @property
    def total_leak_power(self) -> float:
        """Leakage in W of all copies of all components, those by their own fanouts included.

        Nothing counts as gated (switched off). Raises SpecError if a leakage depends on the Einsum
        and there is none.
        """
        return self._total(self.leak_power_by_component, "leak_power")

    @cached_property
    def graph(self) -> nx.DiGraph[Any]:
        """The architecture as a networkx graph, with edges from components to those right below.

        Nodes are component names with the attributes `component` and `on_path` (on the way to the
        Compute); edges carry `fanout`, the instances of the lower component per one of the upper.
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
        """The part of `graph` that the Einsum can use: the path from the root to the Compute."""
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
