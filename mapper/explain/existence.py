"""Decide whether a mapspace has any mapping: likely placements first, then the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

from tilewright.arch.components.components import Memory
from tilewright.mapper.explain.reach import Tiles, reach
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.point_capacity import occupied
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.placement import Placement, Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.workload.errors import UnsupportedFeature

Check = Callable[[float], None]  # called with the states of the next step; may raise to end
_HINTS = 8  # placements remembered
_LANES = 300_000  # choices of a dimension that are looked through


@dataclass(frozen=True, slots=True)
class FoundMapping:
    """Mapping of one Einsum that fits.

    `problem`: the Einsum on its path of components. `template`: the mapping without its loops.
    `tiles`: values per rank variable below each slot of the template (a place for loops, a fill or
    a reservation).
    """

    problem: Problem
    template: Template
    tiles: Tiles

    def bits(self, memory: str) -> dict[str, float]:
        """Return the bits that each tensor takes in a memory, by its name; {} if none is there."""
        slots = slot_sequence(self.problem, self.template)
        return occupied(self.problem, slots, self.tiles).get(memory, {})


def _no_check(_: float) -> None:
    """Do nothing: the default for `check`, by which the search never ends early."""


@dataclass
class Existence:
    """Decide whether mapspaces of one Einsum that differ in their rules have any mapping.

    Many such questions are asked to explain why nothing fits. Which memory keeps which tensor in a
    mapping found before is tried first, then the choices that keep no more than they must. `check`:
    called before each step with the number of tile shapes that it looks at; it may raise to end the
    search.
    """

    check: Check = _no_check
    _hints: dict[object, Placement] = field(default_factory=dict, repr=False)
    _problems: dict[object, Problem] = field(default_factory=dict, repr=False)

    def find(self, space: Mapspace) -> FoundMapping | None:
        """Return a mapping of a mapspace that fits; None if there is none. Exact.

        What `check` raises is passed on. Raises UnsupportedFeature if a dimension has too many
        choices of lanes to look through (theory/explain.md §3).
        """
        if space.uneven:  # mappings with even tiles are in the mapspace
            even = self.find(space.with_even_tiles)
            if even is not None or even_tiles_decide(space):
                return even
        return self._found(space)

    def _found(self, space: Mapspace) -> FoundMapping | None:
        self._share_lanes(space.problem)
        tried: set[Template] = set()
        lattice = Lattice(space.einsum.bounds)

        def has_tiles(placement: Placement) -> bool:
            return _has_tiles(space.problem, placement, lattice)

        hinted = (space.placement_like(hint) for hint in reversed(self._hints.values()))
        mapping = self._first(
            space, space.probe_templates(self._each(p for p in hinted if p)), tried, lattice
        )
        if mapping is None:
            sparse = tuple(filter(has_tiles, self._each(space.sparse_placements())))
            mapping = self._first(space, space.probe_templates(sparse), tried, lattice)
        if mapping is None:
            likely = self._each(space.all_placements()) if space.uneven else sparse
            mapping = self._first(space, space.templates_with_capacity(likely), tried, lattice)
        if mapping is not None:
            self._remember(mapping.template.placement)
        return mapping

    def _each(self, placements: Iterable[Placement]) -> Iterator[Placement]:
        for placement in placements:
            self.check(0.0)
            yield placement

    def _first(
        self, space: Mapspace, templates: Iterable[Template], tried: set[Template], lattice: Lattice
    ) -> FoundMapping | None:
        for template in templates:
            self.check(0.0)
            if template in tried:
                continue
            tried.add(template)
            self.check(lattice.size)
            tiles = reach(space.problem, template, lattice, lambda: self.check(0.0))
            if tiles is not None:
                return FoundMapping(space.problem, template, tiles)
        return None

    def _share_lanes(self, problem: Problem) -> None:
        """Give a problem the spatial choices found for an earlier one with the same dimensions.

        UnsupportedFeature if a dimension has too many choices of lanes.
        """
        dims = tuple((component.name, component.spatial) for component in problem.components)
        for dim in (dim for component in problem.components for dim in component.spatial):
            counts = (
                min(bound, dim.fanout) if v in problem.uneven else len(divisors(bound))
                for v, bound in problem.einsum.bounds.items()
            )
            if prod(counts) > _LANES:
                raise UnsupportedFeature(f"too many choices of lanes of {dim.name}")
        problem.share_spatial_choices(self._problems.setdefault((dims, problem.uneven), problem))

    def _remember(self, placement: Placement) -> None:
        self._hints.pop(placement.kept_tensors, None)
        self._hints[placement.kept_tensors] = placement
        if len(self._hints) > _HINTS:
            del self._hints[next(iter(self._hints))]


def _has_tiles(problem: Problem, placement: Placement, lattice: Lattice) -> bool:
    """Tell whether some tile shape keeps the tile_shape rules of all memories in use."""
    if problem.uneven or not problem.conventions.honours_tile_shape:
        return True
    memories = {c.name for c in problem.components if isinstance(c, Memory)}
    return all(
        bool(lattice.admitted(rules.tile_shape).any())
        for (name, tensors), rules in zip(placement.kept_tensors, placement.rules, strict=True)
        if tensors and name in memories
    )


def even_tiles_decide(space: Mapspace) -> bool:
    """Tell whether a mapspace with uneven tiles has a mapping only if one with even tiles exists.

    That holds without lanes and without tile_shape rules: the first loop over a variable can be
    made to leave one value, and its other loops dropped. No tile is larger then.
    """
    components = space.problem.components
    lanes = any(dim.fanout > 1 for component in components for dim in component.spatial)
    shaped = any(
        rules.tile_shape for placement in space.sparse_placements() for rules in placement.rules
    )
    return not lanes and not (space.problem.conventions.honours_tile_shape and shaped)
