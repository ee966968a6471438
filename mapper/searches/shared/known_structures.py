"""Keep the structures of searches for architectures that differ in costs and sizes alone.

Templates and their steps depend on the Einsum, on the path of components and its rules, and on
which tiles fit. Energies, speeds, leakage and, between two answers, sizes come in as numbers
afterwards. So the designs of a study mostly have the structure of an earlier design, and only the
numbers are worked out anew. An answer cannot depend on what was searched before: structures are
always made with their costs by name, and looked up by all that they depend on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields
from math import inf
from typing import Generic, NamedTuple, TypeVar

from tilewright.arch.components.components import Component, Memory
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.shared.hit_counts import KEEPING, STRUCTURES
from tilewright.mapper.templates.size_tests import SizeTests

MOST_NODES = 250_000  # of all trees of one kind that are kept: some 200 MB
_COSTS = frozenset({"area", "leak_power", "latency", "actions", "size", "tensors"})

T = TypeVar("T")
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class StructureKey:
    """All that a structure depends on except costs and sizes.

    `quick`: equal for equal structures, and fast to compare; `rules`: decides among those.
    """

    quick: Hashable
    rules: tuple[object, ...]


class _Known(NamedTuple):
    """A kept structure with its key.

    `size_tests`: the comparisons of sizes that were made, with their answers; another design must
    give the same ones. `nodes`: of its tree of steps.
    """

    key: StructureKey
    size_tests: SizeTests
    structure: object
    nodes: int


class KnownStructures(Generic[T]):
    """Keeps what was compiled of mapspaces in this process, for those that differ in numbers alone.

    Beyond MOST_NODES nodes of step trees the least recently used are dropped.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, list[_Known]] = OrderedDict()

    def clear(self) -> None:
        """Drop all structures, to free their memory."""
        self._known.clear()

    def is_used(self, budget: Budget) -> bool:
        """Tell whether structures are kept and used under a budget; if not, drop what is kept.

        Not if the memory of the process is limited: what earlier designs left would count. Raises
        OutOfBudget if the budget is over, as the first template to be made would.
        """
        budget.check()
        if budget.memory < inf or not KEEPING.enabled:
            self.clear()
            return False
        return True

    def priced(
        self, key: StructureKey, space: Mapspace, price: Callable[[T], P | None]
    ) -> P | None:
        """Return what `price` makes of a known structure for a mapspace; None if there is none.

        `price` puts the numbers of the mapspace in, or returns None where they do not go with it.
        """
        STRUCTURES.asked += 1
        for known in self._known.get(key.quick, ()):
            if known.key.rules == key.rules and known.size_tests.hold_for(space.problem.components):
                priced = price(known.structure)  # type: ignore[arg-type]
                if priced is not None:
                    STRUCTURES.shared += 1
                    self._known.move_to_end(key.quick)
                    return priced
        return None

    def keep(self, key: StructureKey, space: Mapspace, structure: T, nodes: int) -> None:
        """Keep the structure of a mapspace, unless it depends on more than is compared.

        `nodes`: of its tree of steps, which tell how much memory it takes.
        """
        if not is_comparable(space):
            return
        known = _Known(key, space.problem.size_tests.so_far(), structure, nodes)
        self._known.setdefault(key.quick, []).append(known)
        self._known.move_to_end(key.quick)
        while self._known and self._n_nodes() > MOST_NODES:
            self._known.popitem(last=False)

    def _n_nodes(self) -> int:
        return sum(known.nodes for group in self._known.values() for known in group)


def is_comparable(space: Mapspace) -> bool:
    """Tell whether a mapspace's structure depends on its rules alone.

    Not with a network, nor with a memory spread over an Array.
    """
    problem = space.problem
    spread = any(c.physical_fanout > 1 or c.grid_fanout > 1 for c in problem.components)
    return not (problem.has_networks or spread)


def structure_key(space: Mapspace, *choices: object) -> StructureKey:
    """Return all that the programs of a mapspace depend on, without costs and sizes.

    `choices`: what else they depend on.
    """
    fanouts = tuple((c.name, c.own_fanout) for c in space.problem.components)
    quick = space.einsum.name, tuple(space.einsum.bounds.items()), space.conventions, fanouts
    rules = (
        space.einsum,
        (space.backed, space.uneven, space.crowded, space.exchanged),
        space.lists_lane_choices,
        space.chosen_templates,
        space.placements,
        [list(_component_rules(component)) for component in space.problem.components],
        choices,
    )
    return StructureKey(quick, rules)


def _component_rules(component: Component) -> Iterable[object]:
    """Yield what the structure depends on of a component: all but costs and finite sizes."""
    yield type(component)
    yield [(action.name, action.values_per_action) for action in component.actions]
    yield isinstance(component, Memory) and component.size == inf
    yield from (getattr(component, f.name) for f in fields(component) if f.name not in _COSTS)
