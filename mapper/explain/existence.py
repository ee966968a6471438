"""Whether a mapspace has any mapping: first where one is likely, then wherever one can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tilewright.mapper.explain.reach import Tiles, reach
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.placement import Placement, Template
from tilewright.mapper.mapspace.space import Mapspace

Witness = tuple[Template, Tiles]
Check = Callable[[float], None]  # is told the work of the next step; may raise to end it
_HINTS = 8  # placements remembered


def _no_check(_: float) -> None:
    """Let it go on."""


@dataclass
class Existence:
    """Looks for one mapping in mapspaces of one Einsum that differ in their rules.

    Placements that had one are tried first, then those that hold no more than they must. `check`
    is called before each step with the states that it looks at.
    """

    check: Check = _no_check
    _hints: dict[object, Placement] = field(default_factory=dict, repr=False)

    def find(self, space: Mapspace) -> Witness | None:
        """Return a template with tiles that fit; None if there is none. Exact.

        UnsupportedFeature if nothing was found in a part, and the rest has more choices of lanes
        than can be looked through.
        """
        if space.uneven:  # even tiles are among them
            found = self.find(space.with_even_tiles)
            if found is not None:
                return found
        return self._found(space)

    def _found(self, space: Mapspace) -> Witness | None:
        tried: set[Template] = set()
        known = (space.placement_like(hint) for hint in reversed(self._hints.values()))
        found = self._first(space, space.some_templates(self._each(p for p in known if p)), tried)
        if found is None:
            few = tuple(self._each(space.sparse_placements()))
            found = self._first(space, space.some_templates(few), tried)
        if found is None:
            likely = few if _is_enough(space, few) else self._each(space.all_placements())
            found = self._first(space, space.roomy_templates(likely), tried)
        if found is not None:
            self._remember(found[0].placement)
        return found

    def _each(self, placements: Iterable[Placement]) -> Iterator[Placement]:
        for placement in placements:
            self.check(0.0)
            yield placement

    def _first(
        self, space: Mapspace, templates: Iterable[Template], tried: set[Template]
    ) -> Witness | None:
        lattice = Lattice(space.einsum.bounds)
        for template in templates:
            self.check(0.0)
            if template in tried:
                continue
            tried.add(template)
            self.check(lattice.size)
            tiles = reach(space.frame, template, lattice, lambda: self.check(0.0))
            if tiles is not None:
                return template, tiles
        return None

    def _remember(self, placement: Placement) -> None:
        self._hints.pop(placement.kept, None)
        self._hints[placement.kept] = placement
        if len(self._hints) > _HINTS:
            del self._hints[next(iter(self._hints))]


def _is_enough(space: Mapspace, few: Iterable[Placement]) -> bool:
    """Tell whether sparse placements prove that there is no mapping, if they have none."""
    free = any(rules.force_memory_hierarchy_order is False for p in few for rules in p.rules)
    return not (free or space.uneven)
