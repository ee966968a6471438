"""The templates of one Einsum on one path: placements, orders of holders, lanes that matter.

A mapspace is these templates with the tile shapes of each (space.py). Searches that make tables per
template need no more than this part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeVar

from tilewright.arch.components.components import TensorHolder, Toll
from tilewright.mapper.mapspace.uneven_points import check_uneven
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.templates.adjacent_holders import with_adjacent_holders
from tilewright.mapper.templates.dominated import is_needless
from tilewright.mapper.templates.lane_variants import some_lanes, with_lanes
from tilewright.mapper.templates.placement import Placement, Template, templates, until_backed
from tilewright.mapper.templates.placement_rules import (
    placement_like,
    placements,
    sparse_placements,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.workload.einsum import Einsum

if TYPE_CHECKING:
    from tilewright.arch.flattening.flat import FlatArch

T = TypeVar("T")


@dataclass(slots=True)
class _TemplateCache:
    """The templates made so far: all, and those that a search for energy or latency needs.

    They are called `every` and `searched`; None: not made yet.
    """

    every: tuple[Template, ...] | None = None
    searched: tuple[Template, ...] | None = None


def no_check() -> None:
    """Do nothing: the `check` of enumerations that are never to be interrupted."""


def checked(items: Iterable[T], check: Callable[[], None]) -> Iterator[T]:
    """Yield the items of an enumeration, with a call of `check` before each.

    `check` may raise to end the enumeration, for example when time is up.
    """
    for item in items:
        check()
        yield item


@dataclass(frozen=True, eq=False)
class TemplateSpace:
    """The templates of one Einsum on one path of components, before tiles are chosen.

    A template says which memory holds which tensor, in which order, and lanes that decide slots.
    `einsum`, `flat`: computation and path of components. `conventions`: "default" or "accelforge".
    `backed`: tensors that the outermost memory must keep. `uneven`: rank variables that may have
    one loop whose last tile is smaller. `crowded`: memories that may be too small although this
    Einsum's tensors fit, as other Einsums leave some there. `exchanged`: tensors that other
    Einsums share on chip. `lists_lane_choices`: one template per choice of lanes that a holder
    sees below itself. `chosen_templates`: the only templates, None for all.

    Raises TilewrightError for unknown conventions or uneven variables that the Einsum lacks,
    UnsupportedFeature for uneven variables in sums under "accelforge".
    """

    einsum: Einsum
    flat: FlatArch
    conventions: str = "default"
    backed: frozenset[str] = frozenset()
    uneven: frozenset[str] = frozenset()
    crowded: frozenset[str] = frozenset()
    exchanged: frozenset[str] = frozenset()
    lists_lane_choices: bool = False
    chosen_templates: tuple[Template, ...] | None = None
    _template_cache: _TemplateCache = field(init=False, default_factory=_TemplateCache, repr=False)

    def __post_init__(self) -> None:
        """Change the Einsum to what the conventions read; check the uneven variables.

        Raises UnsupportedFeature or TilewrightError for variables that cannot be uneven.
        """
        conventions = conventions_called(self.conventions)
        object.__setattr__(self, "einsum", conventions.einsum(self.einsum))
        check_uneven(self.einsum, self.uneven, conventions.exact_remainders)

    @cached_property
    def problem(self) -> Problem:
        """What all templates share (Einsum, path, conventions), with facts cached for all.

        A template is a mapping without its loops.
        """
        return Problem(
            self.einsum,
            self.flat.components,
            conventions_called(self.conventions),
            self.uneven,
            self.exchanged,
            self.lists_lane_choices,
            has_shared_tensors=bool(self.backed or self.exchanged),
        )

    # ---- other mapspaces of the same Einsum

    @property
    def with_even_tiles(self) -> Self:
        """The same mapspace without uneven tiles: each loop's tile divides the tile above."""
        return replace(self, uneven=frozenset(), chosen_templates=None)

    def with_flat(self, flat: FlatArch) -> Self:
        """Return the mapspace of the same Einsum on an edited path of components.

        A choice of templates (`chosen_templates`) is dropped. A template is a mapping without its
        loops.
        """
        return replace(self, flat=flat, chosen_templates=None)

    def with_crowded(self, memories: frozenset[str]) -> Self:
        """Return the mapspace in which exactly these memories may be short of capacity.

        Templates whose only merit is to save capacity there are then kept, even if this Einsum's
        tensors fit whole. A choice of templates is dropped. A template is a mapping without its
        loops.
        """
        return replace(self, crowded=memories, chosen_templates=None)

    def narrowed(self, chosen: Iterable[Template]) -> Self:
        """Return the mapspace with only the given templates (mappings without their loops)."""
        return replace(self, chosen_templates=tuple(chosen))

    # ---- placements

    @cached_property
    def placements(self) -> tuple[Placement, ...]:
        """All placements: which memory and Toll keeps which tensors, in a fixed order."""
        return tuple(self.all_placements())

    def all_placements(self) -> Iterator[Placement]:
        """Yield the placements (which memory keeps which tensors) one by one, not cached."""
        return placements(self._holders, self.einsum, self.backed)

    def sparse_placements(self) -> Iterator[Placement]:
        """Yield placements that hold no more tensors than they must.

        If any placement has a mapping with even tiles, one of these has. A placement says which
        memory keeps which tensors.
        """
        return sparse_placements(self._holders, self.einsum, self.backed)

    def placement_like(self, model: Placement) -> Placement | None:
        """Return the placement here that keeps what another one keeps; None if rules forbid it.

        `model`: a placement (which memory and Toll keeps which tensors), maybe of other rules.
        """
        return placement_like(self._holders, self.einsum, self.backed, model)

    @property
    def _holders(self) -> list[TensorHolder]:
        return [c for c in self.flat.components if isinstance(c, TensorHolder)]

    # ---- templates

    @property
    def templates(self) -> tuple[Template, ...]:
        """All templates (mappings without their loops), in a fixed order.

        A lane is one instance along a dimension of a fanout. Raises UnsupportedFeature if one has
        too many choices of lanes to list.
        """
        return self.templates_within(no_check)

    @property
    def templates_made(self) -> int:
        """How many templates (mappings without their loops) have been made so far.

        All, or those that a search needs; 0 before the first request for them.
        """
        if self.chosen_templates is not None:
            return len(self.chosen_templates)
        return len(self._template_cache.every or self._template_cache.searched or ())

    def templates_within(self, check: Callable[[], None]) -> tuple[Template, ...]:
        """Return all templates in a fixed order, from the cache once they are made.

        `check` is called before each template is made and may raise, for example when time is up.
        A lane is one instance along a dimension of a fanout. Raises UnsupportedFeature if a
        template has too many choices of lanes to list.
        """
        if self.chosen_templates is not None:
            return self.chosen_templates
        if self._template_cache.every is None:
            self._template_cache.every = tuple(checked(self.each_template(), check))
        return self._template_cache.every

    def search_templates(
        self, check: Callable[[], None], among: Collection[Placement] | None = None
    ) -> tuple[Template, ...]:
        """Return the templates that a search for least energy or latency needs.

        Left out are those of which another template with the same holders in hierarchy order is
        never worse. `among`: only those of these placements (which memory keeps which tensors).
        `check` is called before each template is made and may raise to stop. Raises
        UnsupportedFeature if there are too many choices of lanes (instances of fanouts) to list.
        """
        if self.chosen_templates is not None:
            return self.chosen_templates
        if among is None and self._template_cache.searched is not None:
            return self._template_cache.searched
        chosen = [p for p in self.placements if among is None or p in among]
        ordered = self._ordered(chosen)
        needed = (t for t in ordered if not is_needless(self.problem, t, self.crowded))
        made = tuple(checked(self._with_all_lanes(needed), check))
        if among is None:
            self._template_cache.searched = made
        return made

    def each_template(self, among: Iterable[Placement] | None = None) -> Iterator[Template]:
        """Yield the templates one by one, uncached, in the order of `templates`.

        `among`: only those of these placements (which memory keeps which tensors). A template is a
        mapping without its loops. Raises UnsupportedFeature if there are too many choices of lanes
        (instances of fanouts) to list.
        """
        return self._with_all_lanes(self._ordered(among))

    def first_template(self, placement: Placement) -> Template | None:
        """Return one template of a placement, lanes left open; None if no order is legal.

        A placement says which memory keeps which tensors, a template also in which order they
        stand. A template is a mapping without its loops; a lane is one instance along a dimension
        of a fanout.
        """
        return next(iter(self._ordered([placement])), None)

    def templates_with_capacity(self, among: Iterable[Placement]) -> Iterator[Template]:
        """Yield the templates of placements in which one value of each tensor fits.

        Left out are those with a memory that cannot even hold one value of each tensor kept there.
        `among`: the placements (which memory and Toll keeps which tensors). A template is a
        mapping without its loops. Raises UnsupportedFeature if there are too many choices of lanes
        (instances of fanouts) to list.
        """
        return self._with_all_lanes(filter(self.problem.fits_single_values, self._ordered(among)))

    def probe_templates(self, among: Iterable[Placement]) -> Iterator[Template]:
        """Yield a few templates of some placements, to find out quickly whether a mapping exists.

        Only the first and last choice of each dimension whose lanes decide slots, and no adjacent
        holders. A mapping found there proves that there is one; none found proves nothing. A
        placement says which memory keeps which tensors; a template is a mapping without its loops;
        a slot is a place of a template for loops, a fill or a reserved tile; a lane is one
        instance along a dimension of a fanout.
        """
        roomy = filter(self.problem.fits_single_values, self._ordered(among))
        return (variant for ordered in roomy for variant in some_lanes(self.problem, ordered))

    def _with_all_lanes(self, ordered: Iterable[Template]) -> Iterator[Template]:
        """Return the variants of templates with adjacent holders and lane restrictions."""
        variants = iter(ordered)
        if self.problem.conventions.adjacent_holders_shrink and not self.einsum.is_copy:
            plain = variants
            variants = (
                variant
                for template in plain
                for variant in with_adjacent_holders(self.problem, template, self.crowded)
            )
        return (variant for template in variants for variant in with_lanes(self.problem, template))

    def _ordered(self, among: Iterable[Placement] | None = None) -> Iterable[Template]:
        """Return the placements with each order of their holders, as templates without variants.

        `among`: the placements; None: all.
        """
        tolls = frozenset(c.name for c in self._holders if isinstance(c, Toll))
        chosen = self.placements if among is None else among
        ordered = templates(chosen, tolls, self.floating_tensors)
        if self.einsum.is_copy and not self.problem.conventions.copies_hold_below_backing:
            return dict.fromkeys(until_backed(template) for template in ordered)
        return ordered

    @property
    def floating_tensors(self) -> frozenset[str]:
        """Tensors whose outermost holder may stand below loops over their relevant variables.

        Only under conventions that allow it ("accelforge"), not for copy Einsums, and not for
        tensors that are persistent, must be in the outermost memory, or are exchanged with other
        Einsums.
        """
        if self.problem.conventions.backing_above_loops or self.einsum.is_copy:
            return frozenset()
        temporary = {a.tensor for a in self.einsum.accesses if not a.persistent}
        return frozenset(temporary - self.backed - self.exchanged)
