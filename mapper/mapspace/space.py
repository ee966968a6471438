"""The mapspace of one Einsum on one flattened architecture, under all its constraints."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from tilewright.arch.components.components import TensorHolder, Toll
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.counting.repeated_points import Repeats
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.locate import Place, locate
from tilewright.mapper.mapspace.neighbours import (
    are_neighbours,
    carried_over,
    moved_tiles,
    random_move,
)
from tilewright.mapper.mapspace.points import Points, overflow
from tilewright.mapper.mapspace.suggest import Suggests, suggested_tiles
from tilewright.mapper.mapspace.uneven_points import UnevenPoints, check_uneven
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.templates.adjacent_holders import with_runs
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
from tilewright.mapper.templates.problem import AS_ACCELFORGE, Frame, Rules
from tilewright.mapper.templates.slot_sequence import skeleton
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping

if TYPE_CHECKING:
    from tilewright.arch.flattening.flat import FlatArch

T = TypeVar("T")
_TRIES = 10_000
_TO_OTHER_TEMPLATE = 0.1


@dataclass(frozen=True, slots=True)
class MapspaceSize:
    """`points` counts mappings, before capacity is looked at; not `exact`: at most so many, because
    templates with runs of holders share mappings, too many to be listed."""

    templates: int
    points: int
    exact: bool = True


class Others(TypedDict, total=False):
    """What a Mapspace must know of other Einsums; see there."""

    crowded: frozenset[str]
    exchanged: frozenset[str]
    listed: bool


def _no_check() -> None:
    """Let the making of templates go on."""


def _checked(items: Iterable[T], check: Callable[[], None]) -> Iterator[T]:
    for item in items:
        check()
        yield item


class Mapspace:
    """Mappings of `einsum` on `flat`: placements, holder orders, canonical loops, lanes.

    `backed` names tensors that the outermost memory must keep, `crowded` memories that may be too
    small although the tensors of this Einsum fit (others leave some there). `conventions` decides
    a few rules only: under "accelforge" tensors.tile_shape and loop bounds on sets of tensors are
    ignored, no_refetch_from_above leaves spatial loops alone (accelforge.md §2.7), a tile
    stays at the next holder of whatever tensor (§2.3), and a tensor that is backed below the
    outermost memory may come tile by tile, unless it is `exchanged` with other Einsums. `uneven`
    names rank variables that may have one loop, temporal or spatial, whose tiles do not divide the
    tile above it; its last tile is smaller (lattice-dp.md §9.5). Under "accelforge" it is their
    outermost loop, and UnsupportedFeature says so of variables in sums (accelforge.md §2.8).
    """

    def __init__(
        self,
        einsum: Einsum,
        flat: FlatArch,
        conventions: str = "default",
        backed: frozenset[str] = frozenset(),
        uneven: frozenset[str] = frozenset(),
        **others: Unpack[Others],
    ) -> None:
        own = conventions != "accelforge"
        self.einsum = einsum = conventions_called(conventions).einsum(einsum)
        check_uneven(einsum, uneven, own)
        self.flat = flat
        self.backed = backed
        self.crowded = others.get("crowded", frozenset())
        self.exchanged = others.get("exchanged", frozenset())
        self.conventions = conventions
        self.uneven = uneven
        self._templates: tuple[Template, ...] | None = None
        self._searched: tuple[Template, ...] | None = None
        self._made: tuple[Points, ...] | None = None
        self._related: dict[int, tuple[int, ...]] = {}
        rules = Rules() if own else AS_ACCELFORGE
        listed = others.get("listed", False)
        shared = bool(self.backed or self.exchanged)
        self.frame = Frame(einsum, flat.components, rules, uneven, self.exchanged, listed, shared)

    @cached_property
    def placements(self) -> tuple[Placement, ...]:
        """What the memories and Tolls may hold, in a fixed order."""
        return tuple(placements(self._holders, self.einsum, self.backed))

    @property
    def templates(self) -> tuple[Template, ...]:
        """All templates, in a fixed order."""
        return self.templates_within(_no_check)

    @property
    def templates_made(self) -> int:
        """How many templates were made: all, or those that a search needs; 0 before."""
        return len(self._templates or self._searched or ())

    def templates_within(self, check: Callable[[], None]) -> tuple[Template, ...]:
        """Return the same; `check`, called before each is made, may raise to end that."""
        if self._templates is None:
            self._templates = tuple(_checked(self.each_template(), check))
        return self._templates

    def searched_within(self, check: Callable[[], None]) -> tuple[Template, ...]:
        """Return the templates that a search for little energy or time needs; `check` as above."""
        if self._searched is None:
            placed = (t for t in self._placed() if not is_needless(self.frame, t, self.crowded))
            self._searched = tuple(_checked(self._with_all_lanes(placed), check))
        return self._searched

    @property
    def with_even_tiles(self) -> Mapspace:
        """The part of the mapspace without uneven tiles."""
        others = Others(crowded=self.crowded, exchanged=self.exchanged, listed=self.frame.listed)
        return Mapspace(self.einsum, self.flat, self.conventions, self.backed, **others)

    def narrowed(self, templates: Iterable[Template]) -> Mapspace:
        """Return the mapspace of some of the templates."""
        others = Others(crowded=self.crowded, exchanged=self.exchanged, listed=self.frame.listed)
        part = Mapspace(
            self.einsum, self.flat, self.conventions, self.backed, self.uneven, **others
        )
        part._templates = part._searched = tuple(templates)
        return part

    def each_template(self, few: Iterable[Placement] | None = None) -> Iterator[Template]:
        """Make the templates one by one, in the same order; `few`: of some placements only."""
        return self._with_all_lanes(self._placed(few))

    def first_template(self, placement: Placement) -> Template | None:
        """Return some template of a placement, whatever its lanes; None if it has no order."""
        return next(iter(self._placed([placement])), None)

    def sparse_placements(self) -> Iterator[Placement]:
        """Make placements that hold no more than they must (minimal_placements.py)."""
        return sparse_placements(self._holders, self.einsum, self.backed)

    def placement_like(self, other: Placement) -> Placement | None:
        """Return the placement of this mapspace that keeps what `other` keeps, if there is one."""
        return placement_like(self._holders, self.einsum, self.backed, other)

    def all_placements(self) -> Iterator[Placement]:
        """Make the placements one by one."""
        return placements(self._holders, self.einsum, self.backed)

    def roomy_templates(self, few: Iterable[Placement]) -> Iterator[Template]:
        """Make the templates of placements, but those that one value of each tensor overfills."""
        return self._with_all_lanes(filter(self.frame.has_least_room, self._placed(few)))

    def some_templates(self, few: Iterable[Placement]) -> Iterator[Template]:
        """Make a few templates of placements: a mapping found there says that there is one."""
        roomy = filter(self.frame.has_least_room, self._placed(few))
        return (one for template in roomy for one in some_lanes(self.frame, template))

    def _with_all_lanes(self, placed: Iterable[Template]) -> Iterator[Template]:
        """Return what may stand together in some templates, with the lanes that matter."""
        found = iter(placed)
        if self.frame.rules.runs and not self.einsum.is_copy:
            plain = found
            found = (one for t in plain for one in with_runs(self.frame, t, self.crowded))
        return (one for template in found for one in with_lanes(self.frame, template))

    def _placed(self, few: Iterable[Placement] | None = None) -> Iterable[Template]:
        """Return what is held where in which order, whatever stands together or has lanes."""
        tolls = frozenset(c.name for c in self._holders if isinstance(c, Toll))
        found = templates(self.placements if few is None else few, tolls, self.floats)
        if self.einsum.is_copy and not self.frame.rules.copies_whole:
            return dict.fromkeys(until_backed(template) for template in found)
        return found

    @property
    def _holders(self) -> list[TensorHolder]:
        return [c for c in self.flat.components if isinstance(c, TensorHolder)]

    @property
    def floats(self) -> frozenset[str]:
        """Tensors whose outermost holder may stand below loops."""
        if self.frame.rules.backed_on_top or self.einsum.is_copy:
            return frozenset()
        own = {a.tensor for a in self.einsum.accesses if not a.persistent}
        return frozenset(own - self.backed - self.exchanged)

    @property
    def _points(self) -> tuple[Points, ...]:
        return self.points_within(_no_check)

    def points_within(self, check: Callable[[], None]) -> tuple[Points, ...]:
        """Return the points of each template; `check` as above."""
        if self._made is None:
            kind, lattice = UnevenPoints if self.uneven else Points, Lattice(self.einsum.bounds)
            each, frame = _checked(self.templates_within(check), check), self.frame
            self._made = tuple(kind(frame, one, skeleton(frame, one), lattice) for one in each)
        return self._made

    @cached_property
    def _repeats(self) -> Repeats:
        return Repeats(self._points, self._fits)

    def __iter__(self) -> Iterator[Mapping]:
        """Enumerate the mappings that fit, in a fixed order."""
        return self.each_within(_no_check)

    def each_within(self, check: Callable[[], None]) -> Iterator[Mapping]:
        """Enumerate the same; `check` as above."""
        for number, points in enumerate(self.points_within(check)):
            for tiles in points:
                check()
                if self._repeats.is_home(place := Place(number, tiles)):
                    yield self.mapping_at(place)

    @cached_property
    def size(self) -> MapspaceSize:
        """The number of templates and points."""
        counted = [self._repeats.count(number) for number in range(len(self._points))]
        points = sum(count for count, _ in counted)
        return MapspaceSize(len(self.templates), points, all(exact for _, exact in counted))

    @property
    def points_at_most(self) -> int:
        """A number of mappings that there are not more of, fast."""
        return sum(points.count for points in self._points)

    def fitting(self, limit: int = 1_000_000) -> int | None:
        """Return the exact number of mappings that fit; None after `limit` steps of counting.

        Where no memory can overflow it is `size.points`.
        """
        total = 0
        for number in range(len(self._points)):
            found, steps = self._repeats.count_fitting(number, limit)
            limit -= steps
            if found is None or limit < 0:
                return None
            total += found
        return total

    def sample(self, rng: random.Random) -> Mapping:
        """Draw a mapping uniformly from the points that fit; InfeasibleMapping if none turns up."""
        return self.mapping_at(self.draw(rng))

    def suggest(self, trial: Suggests) -> Mapping:
        """Let a trial (of Optuna, say) choose a template and its tiles; every choice is legal.

        InfeasibleMapping, with numbers, if the tiles overfill a memory or there is no point at all.
        """
        usable = [i for i, points in enumerate(self._points) if points.count]
        if not usable:
            raise self._empty()
        chosen = usable[trial.suggest_int("template", 0, len(usable) - 1)]
        place = Place(chosen, suggested_tiles(self._points[chosen], trial, str(chosen)))
        reason = self._refusal(place)
        if reason is not None:
            raise InfeasibleMapping(f"the mapping does not fit: {reason}")
        return self.mapping_at(place)

    def _empty(self) -> InfeasibleMapping:
        return InfeasibleMapping(
            f"the constraints leave no mapping of {self.einsum.name} at all",
            instead="relax loop_bounds, tile_shape, keep or the fanouts",
        )

    def neighbours(self, mapping: Mapping) -> Iterator[Mapping]:
        """Yield the mappings one step away: of the same template, then one of each template near.

        In the same template one prime of a loop moves to another slot (of a variable that may be
        uneven, one tile changes), or a dimension takes other lanes. A template is near if it has
        one holder more or less, or two holders the other way round; its holders keep the tiles they
        have as far as they can. InfeasibleMapping if `mapping` is not in the mapspace.
        """
        places = self._locate(mapping)
        if isinstance(places, str):
            raise InfeasibleMapping(
                f"not a mapping of this mapspace: {places}", instead="a mapping that it contains"
            )
        alike = self._repeats.passing_alike(mapping, places)
        own = self._repeats.first_fitting(alike or places)
        seen = {str(self.mapping_at(own))}  # two places may differ in what no one reads off
        for place in dict.fromkeys(map(self._repeats.home, self.near(own))):
            found = self.mapping_at(place)
            if str(found) not in seen:
                seen.add(str(found))
                yield found

    def near(self, place: Place) -> Iterator[Place]:
        """Yield the places one step away whose tiles fit, in a fixed order."""
        points = self._points[place.template]
        for tiles in moved_tiles(points, place.tiles):
            if self._fits(found := Place(place.template, tiles)):
                yield found
        for number in self._relatives(place.template):
            carried = carried_over(points, place.tiles, self._points[number])
            if carried is not None and self._fits(found := Place(number, carried)):
                yield found

    def step(self, place: Place, rng: random.Random) -> Place | None:
        """Return a random neighbour of a place, in one of ten cases of another template.

        None if the draw leads nowhere: out of the mapspace, or over the size of a memory.
        """
        points = self._points[place.template]
        number, tiles = place.template, None
        related = self._relatives(number)
        if related and rng.random() < _TO_OTHER_TEMPLATE:
            number = rng.choice(related)
            tiles = carried_over(points, place.tiles, self._points[number])
        else:
            tiles = random_move(points, place.tiles, rng)
        if tiles is None or not self._fits(found := Place(number, tiles)):
            return None
        return found

    def _relatives(self, number: int) -> tuple[int, ...]:
        if number not in self._related:
            mine = self.templates[number]
            self._related[number] = tuple(
                i for i, other in enumerate(self.templates) if are_neighbours(mine, other)
            )
        return self._related[number]

    def _fits(self, place: Place) -> bool:
        return self._refusal(place) is None

    def mapping_at(self, place: Place) -> Mapping:
        """Return the mapping at a place."""
        return assemble(self.frame, self._points[place.template].slots, place.tiles)

    def draw(self, rng: random.Random, tries: int = _TRIES) -> Place:
        """Draw a place uniformly from the points that fit; InfeasibleMapping if none turns up."""
        counts = [points.count for points in self._points]
        if not sum(counts):
            raise self._empty()
        for _ in range(tries):
            ticket = rng.randrange(sum(counts))
            number = 0
            while ticket >= counts[number]:
                ticket -= counts[number]
                number += 1
            place = Place(number, self._points[number].sample(rng))
            if self._fits(place) and self._repeats.is_home(place):
                return place
        raise InfeasibleMapping(
            f"none of {tries} random mappings of {self.einsum.name} fits its memories",
            instead="use the dynamic search, which finds one or proves that there is none",
        )

    def contains(self, mapping: Mapping) -> str | None:
        """Return None if the mapspace holds `mapping`, else the reason why it does not."""
        places = self._locate(mapping)
        if isinstance(places, str):
            return places
        return self._refusal(self._repeats.first_fitting(places))

    def _refusal(self, place: Place) -> str | None:
        refused = self._points[place.template].refusal(place.tiles)
        if refused is not None:
            return refused
        found = overflow(self.frame, self._points[place.template].slots, place.tiles)
        if found is None:
            return None
        memory, parts, room = found
        each = ", ".join(f"{tensor} {bits:g}" for tensor, bits in parts.items())
        return f"{memory} needs {sum(parts.values()):g} bits ({each}), its size is {room:g}"

    def _locate(self, mapping: Mapping) -> tuple[Place, ...] | str:
        return locate(
            self.frame, [(points.template, points.slots) for points in self._points], mapping
        )
