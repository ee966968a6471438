"""The components evaluated last, by all that they depend on.

Designs of a study mostly differ in one or two nodes of the architecture. The other components come
out the same, and are not evaluated again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

from tilewright.arch.components.components import Component, Scope
from tilewright.arch.flattening.build import Surroundings
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.tree import Node

MOST_NODES = 256  # nodes of architectures, each for one Einsum
MOST_OF_NODE = 16  # ways in which one node was written


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """A component, with what it was evaluated from."""

    arch: Arch
    node: Node
    scope: Scope
    component: Component

    def holds_for(self, arch: Arch, node: Node, scope: Scope) -> bool:
        """Tell whether a node of another architecture says the same."""
        return (
            (self.scope is scope or self.scope == scope)
            and self.node.spec == node.spec
            and self.arch.variables == arch.variables
            and self.arch.extra_attributes == arch.extra_attributes
            and self.arch.estimators == arch.estimators
        )


_Place = tuple[str, str, Surroundings, str]
_KNOWN: OrderedDict[_Place, deque[_Evaluated]] = OrderedDict()


def known_component(
    arch: Arch, node: Node, position: Surroundings, scope: Scope
) -> Component | None:
    """Return the component of an equal node in an equal place; None if none was evaluated."""
    several = _KNOWN.get(_place(node, position, scope), ())
    return next((e.component for e in several if e.holds_for(arch, node, scope)), None)


def keep_component(
    arch: Arch, node: Node, position: Surroundings, scope: Scope, component: Component
) -> None:
    """Keep a component that depends on the node, its place, the variables and the Einsum alone."""
    place = _place(node, position, scope)
    several = _KNOWN.setdefault(place, deque(maxlen=MOST_OF_NODE))
    several.appendleft(_Evaluated(arch, node, scope, component))
    _KNOWN.move_to_end(place)
    if len(_KNOWN) > MOST_NODES:
        _KNOWN.popitem(last=False)


def _place(node: Node, position: Surroundings, scope: Scope) -> _Place:
    return node.tag, node.name, position, scope.einsum
