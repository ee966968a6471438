"""Keep the components evaluated last, to reuse them where they must come out the same.

Designs of a study mostly differ in one or two nodes of the architecture; the other components are
not evaluated again. Einsums of a workload often differ in names only; then a component evaluated
for one of them is renamed for the others.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

from tilewright.arch.components.components import Component, Scope
from tilewright.arch.flattening.build import Surroundings
from tilewright.arch.flattening.kinds.scope_signature import einsum_signature
from tilewright.arch.flattening.kinds.words import words_of
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.tree import Node

MOST_NODES = 256  # nodes of architectures, each for one Einsum
MOST_OF_NODE = 16  # ways in which one node was written


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """A component with what it was evaluated from.

    `words`: of its node (words.py). `variables`: those of the architecture among them.
    """

    arch: Arch
    node: Node
    scope: Scope
    component: Component
    words: frozenset[str]
    variables: frozenset[str]

    def is_written_alike(self, arch: Arch, node: Node) -> bool:
        """Tell whether a node of another architecture is evaluated from the same fields."""
        before, now = self.arch.variables, arch.variables
        if self.arch is arch and self.node is node:
            return True
        return (
            (self.node.spec is node.spec or self.node.spec == node.spec)
            and all(before.get(name) == now.get(name) for name in self.variables)
            and self.arch.extra_attributes == arch.extra_attributes
            and self.arch.estimators == arch.estimators
            and (before.keys() == now.keys() or self.words & now.keys() == self.variables)
        )

    def holds_for(self, arch: Arch, node: Node, scope: Scope) -> bool:
        """Tell whether a node of another architecture must give the same component."""
        same = self.scope is scope or self.scope == scope
        return same and self.is_written_alike(arch, node)


P = TypeVar("P")
V = TypeVar("V")
_Position = tuple[str, str, Surroundings]
_Place = tuple[_Position, str]
_KNOWN: OrderedDict[_Place, deque[Evaluated]] = OrderedDict()
_FIRST: OrderedDict[_Position, deque[tuple[Evaluated, Hashable]]] = OrderedDict()
"""The components that were evaluated, not renamed, each with the signature of its scope."""


def known_component(
    arch: Arch, node: Node, position: Surroundings, scope: Scope
) -> Component | None:
    """Return the component of an equal node in an equal place; None if none was evaluated."""
    several = _KNOWN.get((_position(node, position), scope.einsum), ())
    same = [e for e in several if e.node.spec is node.spec]  # mostly: faster to compare
    return next((e.component for e in (*same, *several) if e.holds_for(arch, node, scope)), None)


def component_of_like(
    arch: Arch, node: Node, position: Surroundings, scope: Scope
) -> Evaluated | None:
    """Return the component of an equal node for an Einsum that differs in names only.

    `scope`: of the Einsum that asks. None if none was evaluated.
    """
    signature = einsum_signature(arch, scope)
    for evaluated, its_signature in _FIRST.get(_position(node, position), ()):
        if evaluated.is_written_alike(arch, node) and its_signature == signature:
            return evaluated
    return None


def keep_component(
    arch: Arch, node: Node, position: Surroundings, scope: Scope, component: Component
) -> None:
    """Keep a component that depends on the node, its place, the variables and the Einsum alone."""
    words = words_of(arch, node)
    variables = words & arch.variables.keys()
    evaluated = Evaluated(arch, node, scope, component, words, variables)
    keep_evaluated(position, evaluated)
    signature, place = einsum_signature(arch, scope), _position(node, position)
    if signature is not None:
        _FIRST.setdefault(place, deque(maxlen=MOST_OF_NODE)).appendleft((evaluated, signature))
        _shorten(_FIRST, place)


def keep_evaluated(position: Surroundings, evaluated: Evaluated) -> None:
    """Keep a component for the same Einsum only."""
    place = _position(evaluated.node, position), evaluated.scope.einsum
    _KNOWN.setdefault(place, deque(maxlen=MOST_OF_NODE)).appendleft(evaluated)
    _shorten(_KNOWN, place)


def _shorten(known: OrderedDict[P, V], last: P) -> None:
    """Move a place to the end, and forget the oldest if there are too many."""
    known.move_to_end(last)
    if len(known) > MOST_NODES:
        known.popitem(last=False)


def _position(node: Node, position: Surroundings) -> _Position:
    return node.tag, node.name, position
