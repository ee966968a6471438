"""Compile a template into the operations of the dynamic program, innermost first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from tilewright.arch.components import Comparison
from tilewright.mapper.mapspace.fanout import Fan
from tilewright.mapper.mapspace.frame import Frame
from tilewright.mapper.mapspace.placement import Template
from tilewright.mapper.mapspace.skeleton import skeleton
from tilewright.mapper.mapspace.slots import Fill, Loops, Reserve, Slot
from tilewright.mapper.searches.errors import UnsupportedFeature
from tilewright.mapper.searches.fields import Fields
from tilewright.mapper.searches.hops import network_routes
from tilewright.mapper.searches.routes import Add, Route, Router
from tilewright.mapper.searches.taps import Tap, taps

MAX_VARIANTS = 20_000


@dataclass(frozen=True, slots=True)
class Close:
    """Temporal loops over `variables`."""

    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Slide:
    """A temporal loop over at most one of `variables`."""

    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deal:
    """One choice of `fan`; choice i adds `plus[n][1][i]` to field `plus[n][0]`."""

    fan: Fan
    plus: tuple[tuple[int, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class Charge:
    """Costs that depend on the tile alone; `pinned`: a tile_shape that must hold here."""

    adds: tuple[Add, ...]
    pinned: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Occupy:
    """Room for a tile. `shared`: others reserve in the same memory too, so the bits are summed in
    a field; `last`: none above does."""

    reserve: Reserve
    shared: bool
    last: bool


Operation = Close | Slide | Deal | Charge | Occupy


@dataclass(frozen=True, slots=True)
class Program:
    """Operations of one template, innermost first; `slots[i]`: the slot operation i stands for."""

    template: Template
    skeleton: tuple[Slot, ...]
    operations: tuple[Operation, ...]
    slots: tuple[int | None, ...]


class Compiler:
    """Compiles the templates of one frame for labels with `fields`."""

    def __init__(self, frame: Frame, fields: Fields) -> None:
        self._frame = frame
        self._fields = fields

    def programs(self, template: Template) -> Iterator[Program]:
        """Compile `template`; several programs when lanes must be enumerated outside the program.

        Raises UnsupportedFeature when the template lies beyond what the dynamic program can do.
        """
        slots = skeleton(self._frame, template)
        fans = [slot for slot in slots if isinstance(slot, Fan)]
        if any(not fan.choices for fan in fans):
            return
        if not self._frame.rules.sinks:
            check_order(self._frame, slots)
        rest = tuple(taps(self._frame, template))
        yield from self._fix_lanes(_Draft(self._frame, template, slots), slots, (rest, ()))

    def _fix_lanes(
        self,
        draft: _Draft,
        slots: tuple[Slot, ...],
        costs: tuple[tuple[Tap, ...], tuple[Route, ...]],
    ) -> Iterator[Program]:
        """Enumerate the dimensions whose lanes some cost needs to know, then compile.

        `costs`: taps still to be routed, and the routes that hold whatever the lanes.
        """
        rest, settled = costs
        router = Router(self._frame, self._fields, slots)
        routed = [(tap, router.route(tap)) for tap in rest]
        routes = [route for _, route in routed]
        if self._frame.has_networks:
            routes += network_routes(self._frame, self._fields, draft.template, slots)
        blocked = sorted({i for route in routes for i in route.blocked})
        if not blocked:
            yield draft.program(slots, [*settled, *routes])
            return
        open_ = tuple(tap for tap, route in routed if route.blocked or route.per_choice)
        fixed = (route for _, route in routed if not (route.blocked or route.per_choice))
        costs = (open_, (*settled, *fixed))
        for chosen in with_fixed_lanes(slots, blocked):
            yield from self._fix_lanes(draft, chosen, costs)


def with_fixed_lanes(slots: tuple[Slot, ...], blocked: Sequence[int]) -> Iterator[tuple[Slot, ...]]:
    """Yield the slots with each choice of the dimensions at `blocked`; UnsupportedFeature if they
    are too many."""
    fans = [fan for i in blocked if isinstance(fan := slots[i], Fan)]
    variants = prod(len(fan.choices) for fan in fans)
    if variants > MAX_VARIANTS:
        raise UnsupportedFeature(
            f"the dynamic program would enumerate {variants} spatial choices of"
            f" {', '.join(f'{fan.component}.{fan.name}' for fan in fans)}",
            instead="narrow loop_bounds, reuse or min_usage there, or use the random search",
        )
    for chosen in product(*(fan.choices for fan in fans)):
        single = dict(zip(blocked, chosen, strict=True))
        yield tuple(
            replace(slot, choices=(single[i],)) if isinstance(slot, Fan) and i in single else slot
            for i, slot in enumerate(slots)
        )


def check_order(frame: Frame, slots: Sequence[Slot]) -> None:
    """Every holder must see exactly the lanes of its own and the outer levels above it."""
    deepest = -1
    for slot in slots:
        if isinstance(slot, Fan) and any(prod(choice) > 1 for choice in slot.choices):
            deepest = max(deepest, frame.level(slot.component))
        elif isinstance(slot, Fill) and frame.level(slot.component) < deepest:
            raise UnsupportedFeature(
                f"{slot.tensor} in {slot.component} stands below lanes of"
                f" {frame.components[deepest].name}, a lower level",
                instead="set force_memory_hierarchy_order: true on one of the two memories,"
                " or use the exhaustive search",
            )


class _Draft:
    """What all programs of one template have in common: its operations without costs and lanes."""

    def __init__(self, frame: Frame, template: Template, slots: tuple[Slot, ...]) -> None:
        self.template = template
        self._operations = [_operation(frame, slots, slot) for slot in slots]
        self._pins = [_pinned(frame, template, slot) for slot in slots]

    def program(self, slots: tuple[Slot, ...], routes: Sequence[Route]) -> Program:
        """Put in the lanes that `slots` leave, and the costs where `routes` charge them."""
        at_slot: dict[int, list[Add]] = {}
        at_fan: dict[int, list[tuple[int, tuple[float, ...]]]] = {}
        for route in routes:
            at_slot.setdefault(route.slot, []).extend(route.adds)
            at_fan.setdefault(route.slot, []).extend(route.per_choice)
        operations: list[Operation] = [Charge(_sorted(at_slot.get(len(slots), [])))]
        numbers: list[int | None] = [None]
        for index in range(len(slots) - 1, -1, -1):
            slot, own = slots[index], self._operations[index]
            if isinstance(slot, Fan) and any(prod(choice) > 1 for choice in slot.choices):
                own = Deal(slot, tuple(sorted(at_fan.get(index, []))))
            if own is not None:
                operations.append(own)
                numbers.append(index)
            adds = _sorted(at_slot.get(index, []))
            if adds or self._pins[index]:
                operations.append(Charge(adds, self._pins[index]))
                numbers.append(None)
        return Program(self.template, slots, tuple(operations), tuple(numbers))


def _sorted(adds: list[Add]) -> tuple[Add, ...]:
    return tuple(sorted(add for add in adds if add.factor != 0.0))


def _operation(frame: Frame, slots: tuple[Slot, ...], slot: Slot) -> Operation | None:
    """Return the operation of a slot that is not lanes."""
    if isinstance(slot, Loops):
        return Slide(slot.variables) if slot.single else Close(slot.variables)
    return _occupy(frame, slots, slot) if isinstance(slot, Reserve) else None


def _occupy(frame: Frame, slots: tuple[Slot, ...], slot: Reserve) -> Occupy | None:
    same = [s for s in slots if isinstance(s, Reserve) and s.component == slot.component]
    if not frame.can_overflow(tuple(same)):
        return None
    return Occupy(slot, len(same) > 1, slot is same[0])


def _pinned(frame: Frame, template: Template, slot: Slot) -> tuple[Comparison, ...]:
    if not isinstance(slot, Fill) or not frame.rules.tile_shape:
        return ()
    first = next(h for h in template.holders if h.component == slot.component)
    if first.tensor != slot.tensor:
        return ()
    return template.placement.rules_of(slot.component).tile_shape
