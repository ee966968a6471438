"""Build the paths of components of many designs, reusing the components of known designs.

The component of a node depends on how the node is written, on the variables and on the place of the
node. Where the first Einsum sees the components of known designs, the others do so too: they are
put together from these (arch/flattening/known_components.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from tilewright.arch.components.components import Component
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.fronts.designs.design_facts import (
    DesignFacts,
    facts_of,
    form_of,
    joined_facts,
)
from tilewright.mapper.searches.request import Request

Paths = tuple[tuple[FlatArch, ...], ...]  # per Einsum, the path to each of its Computes


class _KnownComponent(NamedTuple):
    """A component as the first Einsum sees it, as the other Einsums see it, and its facts."""

    first: Component
    others: tuple[Component, ...]
    facts: DesignFacts


class Design(NamedTuple):
    """The paths of a design, and its facts; None if its form is another, or Einsums differ."""

    paths: Paths
    facts: DesignFacts | None


class FamilyPaths:
    """Evaluates the architectures of a family for all Einsums of a request.

    `request`: with the architecture of one design, the base.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._known: dict[int, _KnownComponent] = {}
        self.base = self._evaluated(request.arch)
        self._form = form_of(flat_paths(self.base))
        self._learn(self.base)

    def design(self, arch: Arch) -> Design:
        """Return the paths and the facts of a design.

        Raises SpecError for what the architecture gets wrong.
        """
        first = replace(self._request, arch=arch).flat_archs(self._request.workload.einsums[0])
        known = [self._known.get(id(component)) for component in _components(first)]
        if None not in known:
            return self._put_together(first, [each for each in known if each is not None])
        paths = self._evaluated(arch)
        flats = flat_paths(paths)
        if form_of(flats) != self._form:
            return Design(paths, None)
        facts = facts_of(flats)
        if facts is not None:
            self._learn(paths)
        return Design(paths, facts)

    def _evaluated(self, arch: Arch) -> Paths:
        asked = replace(self._request, arch=arch)
        return tuple(asked.flat_archs(einsum) for einsum in self._request.workload.einsums)

    def _learn(self, paths: Paths) -> None:
        """Remember the components of a design, to build other designs from them."""
        others = [{c.name: c for c in _components(several)} for several in paths[1:]]
        for component in _components(paths[0]):
            if all(component.name in by_name for by_name in others):
                seen = tuple(by_name[component.name] for by_name in others)
                facts = facts_of_component(component)
                self._known[id(component)] = _KnownComponent(component, seen, facts)

    def _put_together(self, first: tuple[FlatArch, ...], known: list[_KnownComponent]) -> Design:
        facts = joined_facts([each.facts for each in known])
        others = [{} for _ in self.base[1:]]  # type: list[dict[str, Component]]
        for each in known:
            for by_name, component in zip(others, each.others, strict=True):
                by_name[component.name] = component
        rest = zip(self.base[1:], others, strict=True)
        paths = (tuple(_with(flat, by_name) for flat in several) for several, by_name in rest)
        return Design((first, *paths), facts)


def flat_paths(paths: Paths) -> list[FlatArch]:
    """Return the paths of all Einsums in one list."""
    return [flat for several in paths for flat in several]


def facts_of_component(component: Component) -> DesignFacts:
    """Return the numbers of one component in which designs may differ."""
    compute: Any = component
    facts = facts_of([FlatArch(compute, (component,))])
    assert facts is not None
    return facts


def _components(paths: Iterable[FlatArch]) -> list[Component]:
    return [c for flat in paths for c in (*flat.components, *flat.beside)]


def _with(flat: FlatArch, by_name: dict[str, Component]) -> FlatArch:
    components = tuple(by_name[c.name] for c in flat.components)
    beside = tuple(by_name[c.name] for c in flat.beside)
    compute: Any = components[-1]
    return replace(flat, compute=compute, components=components, beside=beside)
