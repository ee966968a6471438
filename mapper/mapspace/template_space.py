"""The templates of one Einsum on one path: placements, orders of holders, lanes that matter.

A mapspace is these templates with the tile shapes of each (space.py). Searches that make tables per
template need no more than this part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeVar

from tilewright.arch.components.components import TensorHolder, Toll
from tilewright.mapper.mapspace.uneven_points import check_uneven
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.templates.adjacent_holders import with_adjacent_holders
from tilewright.mapper.templates.dominated import is_needless
from tilewright.mapper.templates.lane_variants import some_lanes, with_lanes
from tilewright.mapper.templates.minimal_placements import placement_like, sparse_placements
from tilewright.mapper.templates.placement import (
    Placement,
    Template,
    placements,
    templates,
    until_backed,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.workload.einsum import Einsum

if TYPE_CHECKING:
    from tilewright.arch.flattening.flat import FlatArch

T = TypeVar("T")


@dataclass(slots=True)
class _TemplateCache:
    """The templates made so far: all, and those that a search for one objective needs."""

    every: tuple[Template, ...] | None = None
    searched: tuple[Template, ...] | None = None


def no_check() -> None:
    """Let an enumeration continue."""


def checked(items: Iterable[T], check: Callable[[], None]) -> Iterator[T]:
    """Yield the items; `check` is called before each and may raise to end the enumeration."""
    for item in items:
        check()
        yield item


@dataclass(frozen=True, eq=False)
class TemplateSpace:
    """The templates of `einsum` on `flat`; the fields are explained at `Mapspace`."""

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
        """Write the Einsum as the conventions read it; refuse variables that cannot be uneven."""
        conventions = conventions_called(self.conventions)
        object.__setattr__(self, "einsum", conventions.einsum(self.einsum))
        check_uneven(self.einsum, self.uneven, conventions.exact_remainders)

    @cached_property
    def problem(self) -> Problem:
        """What all templates share."""
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
        """The part of the mapspace without uneven tiles."""
        return replace(self, uneven=frozenset(), chosen_templates=None)

    def with_flat(self, flat: FlatArch) -> Self:
        """Return the mapspace of the same Einsum on an edited path, with all its templates."""
        return replace(self, flat=flat, chosen_templates=None)

    def with_crowded(self, memories: frozenset[str]) -> Self:
        """Return the mapspace in which exactly these memories may be too small."""
        return replace(self, crowded=memories, chosen_templates=None)

    def narrowed(self, chosen: Iterable[Template]) -> Self:
        """Return the mapspace of some of the templates."""
        return replace(self, chosen_templates=tuple(chosen))

    # ---- placements

    @cached_property
    def placements(self) -> tuple[Placement, ...]:
        """What the memories and Tolls may hold, in a fixed order."""
        return tuple(self.all_placements())

    def all_placements(self) -> Iterator[Placement]:
        """Make the placements one by one."""
        return placements(self._holders, self.einsum, self.backed)

    def sparse_placements(self) -> Iterator[Placement]:
        """Make placements that hold no more than they must (minimal_placements.py)."""
        return sparse_placements(self._holders, self.einsum, self.backed)

    def placement_like(self, model: Placement) -> Placement | None:
        """Return the placement of this mapspace that keeps what `model` keeps, if there is one."""
        return placement_like(self._holders, self.einsum, self.backed, model)

    @property
    def _holders(self) -> list[TensorHolder]:
        return [c for c in self.flat.components if isinstance(c, TensorHolder)]

    # ---- templates

    @property
    def templates(self) -> tuple[Template, ...]:
        """All templates, in a fixed order."""
        return self.templates_within(no_check)

    @property
    def templates_made(self) -> int:
        """How many templates were made: all, or those that a search needs; 0 before."""
        if self.chosen_templates is not None:
            return len(self.chosen_templates)
        return len(self._template_cache.every or self._template_cache.searched or ())

    def templates_within(self, check: Callable[[], None]) -> tuple[Template, ...]:
        """Return the same; `check`, called before each is made, may raise to end that."""
        if self.chosen_templates is not None:
            return self.chosen_templates
        if self._template_cache.every is None:
            self._template_cache.every = tuple(checked(self.each_template(), check))
        return self._template_cache.every

    def search_templates(self, check: Callable[[], None]) -> tuple[Template, ...]:
        """Return the templates that a search for little energy or time needs; `check` as above."""
        if self.chosen_templates is not None:
            return self.chosen_templates
        if self._template_cache.searched is None:
            ordered = (t for t in self._ordered() if not is_needless(self.problem, t, self.crowded))
            self._template_cache.searched = tuple(checked(self._with_all_lanes(ordered), check))
        return self._template_cache.searched

    def each_template(self, among: Iterable[Placement] | None = None) -> Iterator[Template]:
        """Make the templates one by one, in the same order; of some placements only if given."""
        return self._with_all_lanes(self._ordered(among))

    def first_template(self, placement: Placement) -> Template | None:
        """Return some template of a placement, whatever its lanes; None if it has no order."""
        return next(iter(self._ordered([placement])), None)

    def templates_with_capacity(self, among: Iterable[Placement]) -> Iterator[Template]:
        """Make the templates of placements, but those that one value of each tensor overfills."""
        return self._with_all_lanes(filter(self.problem.fits_single_values, self._ordered(among)))

    def probe_templates(self, among: Iterable[Placement]) -> Iterator[Template]:
        """Make a few templates of placements: a mapping found there says that there is one."""
        roomy = filter(self.problem.fits_single_values, self._ordered(among))
        return (variant for ordered in roomy for variant in some_lanes(self.problem, ordered))

    def _with_all_lanes(self, ordered: Iterable[Template]) -> Iterator[Template]:
        """Return the variants of some templates with adjacent holders and the lanes that matter."""
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
        """Return the placements with the orders of their holders, before lanes are looked at."""
        tolls = frozenset(c.name for c in self._holders if isinstance(c, Toll))
        chosen = self.placements if among is None else among
        ordered = templates(chosen, tolls, self.floating_tensors)
        if self.einsum.is_copy and not self.problem.conventions.copies_hold_below_backing:
            return dict.fromkeys(until_backed(template) for template in ordered)
        return ordered

    @property
    def floating_tensors(self) -> frozenset[str]:
        """Tensors whose outermost holder may stand below loops."""
        if self.problem.conventions.backing_above_loops or self.einsum.is_copy:
            return frozenset()
        temporary = {a.tensor for a in self.einsum.accesses if not a.persistent}
        return frozenset(temporary - self.backed - self.exchanged)
