"""Split what an architecture says of an Einsum: numbers in which designs may differ, and its form.

Designs of a study often differ in sizes of memories, fanouts, energies, areas and leakage alone.
These are the facts of a design; what is left when they are taken out is its form. Designs of one
form have the same mappings, but for what fits (theory/fronts.md §7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from tilewright.arch.components.components import Component, Memory, Network, TensorHolder
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.placement import SpecTensorRules
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.costs import leak_power_by

ActionName = tuple[str, str]  # component, action
DimName = tuple[str, str]  # component, dimension of its fanout
_NUMBERS_OF_RULES = frozenset({"size", "area", "leak_power"})


@dataclass(frozen=True, slots=True)
class DesignFacts:
    """The numbers in which designs of one form may differ, over the paths of all Einsums.

    `sizes`: bits of each memory. `fanouts`: lanes of each dimension. `energies`: joules of each
    action. `watts`: what each component leaks, all instances. A lane is one instance along a
    dimension of a fanout.
    """

    sizes: dict[str, float] = field(default_factory=dict)
    fanouts: dict[DimName, int] = field(default_factory=dict)
    energies: dict[ActionName, float] = field(default_factory=dict)
    watts: dict[str, float] = field(default_factory=dict)


def facts_of(paths: Sequence[FlatArch]) -> DesignFacts | None:
    """Return the facts of a design; None if Einsums see different numbers of one component.

    `paths`: of components, for each Einsum and Compute.
    """
    return joined_facts([_facts_of_path(flat) for flat in paths])


def joined_facts(parts: Iterable[DesignFacts]) -> DesignFacts | None:
    """Return the facts of several parts of a design; None if they contradict each other."""
    facts = DesignFacts()
    for several in parts:
        for name in ("sizes", "fanouts", "energies", "watts"):
            known, seen = getattr(facts, name), getattr(several, name)
            if any(known.get(key, value) != value for key, value in seen.items()):
                return None
            known |= seen
    return facts


def _facts_of_path(flat: FlatArch) -> DesignFacts:
    components = (*flat.components, *flat.beside)
    return DesignFacts(
        {c.name: float(c.size) for c in components if isinstance(c, Memory)},
        {(c.name, dim.name): dim.fanout for c in components for dim in c.spatial},
        {(c.name, a.name): float(a.energy) for c in components for a in c.actions},
        dict(leak_power_by(flat, conventions_called("default"))),
    )


def form_of(paths: Sequence[FlatArch]) -> list[Any]:
    """Return all that the paths of components say besides the facts.

    Equal for designs of one form.
    """
    return [
        (
            [_form(component) for component in flat.components],
            [_form(component) for component in flat.beside],
            flat.disabled, flat.gated, flat.ancestors, flat.grids,
        )
        for flat in paths
    ]  # fmt: skip


def _form(component: Component) -> tuple[object, ...]:
    neutral: dict[str, Any] = {
        "area": 0.0,
        "leak_power": 0.0,
        "parent_fanout": 1,
        "spatial": tuple(replace(dim, fanout=1) for dim in component.spatial),
        "actions": tuple(replace(action, energy=0.0) for action in component.actions),
    }
    rules = None
    if isinstance(component, TensorHolder):
        neutral["tensors"] = None
        rules = getattr(component.tensors, "spec", component.tensors)
    if isinstance(component, Memory):
        neutral["size"] = inf if component.size == inf else 0.0
    return replace(component, **neutral), rules


def names_of_rules(paths: Sequence[FlatArch]) -> Iterator[str]:
    """Yield the names that the rules of memories refer to, such as variables of the architecture.

    If one of these is a fact, the rules may change with it.
    """
    for flat in paths:
        for component in flat.components:
            rules = getattr(component, "tensors", None)
            if isinstance(rules, SpecTensorRules):
                yield from rules.names


def has_free_form(paths: Sequence[FlatArch], variables: Sequence[str]) -> bool:
    """Tell whether facts can change without changing the rules or the way costs are counted.

    So if no rule names a number, and nothing is power gated, in an Array or behind a network.
    `variables`: names of those of the architecture.
    """
    naming = {*_NUMBERS_OF_RULES, *variables} & set(names_of_rules(paths))
    return not naming and not any(_is_entangled(flat) for flat in paths)


def _is_entangled(flat: FlatArch) -> bool:
    components = (*flat.components, *flat.beside)
    gated = flat.gated or any(dim.power_gateable for c in components for dim in c.spatial)
    spread = any(c.physical_fanout > 1 or c.grid_fanout > 1 for c in components)
    return bool(gated or spread or any(isinstance(c, Network) for c in components))
