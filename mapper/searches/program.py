"""Compile a template into the operations of the dynamic program, innermost first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from tilewright.arch.components import Comparison
from tilewright.mapper.mapspace.fanout import Fan
from tilewright.mapper.mapspace.frame import Frame, pinned
from tilewright.mapper.mapspace.placement import Template
from tilewright.mapper.mapspace.skeleton import skeleton
from tilewright.mapper.mapspace.slots import Fill, Loops, Reserve, Slot
from tilewright.mapper.searches.deferrals import Debt, counts, debts, deferred
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
    """One choice of `fan`; choice i adds `plus[n][1][i]` to field `plus[n][0]`, and multiplies
    field `times[n][0]` by `times[n][1][i]`."""

    fan: Fan
    plus: tuple[tuple[int, tuple[float, ...]], ...]
    times: tuple[tuple[int, tuple[float, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Charge:
    """Costs that depend on the tile alone; `pinned`: a tile_shape that must hold here."""

    adds: tuple[Add, ...]
    pinned: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Settle:
    """Pay what is owed: add the first field of each pair to the second, and empty it.

    `refunds`: energy below 0 that it may hold.
    """

    moves: tuple[tuple[int, int], ...]
    refunds: tuple[Add, ...] = ()


@dataclass(frozen=True, slots=True)
class Occupy:
    """Room for a tile. `shared`: others reserve in the same memory too, so the bits are summed in
    a field; `last`: none above does."""

    reserve: Reserve
    shared: bool
    last: bool


Operation = Close | Slide | Deal | Charge | Settle | Occupy


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

    def owed(self, template: Template) -> tuple[int, int]:
        """Return how many fields of energy and of calls `template` can defer (deferrals.py)."""
        slots = skeleton(self._frame, template)
        fans = [slot for slot in slots if isinstance(slot, Fan)]
        if any(not fan.choices for fan in fans) or sum(len(f.choices) > 1 for f in fans) < 2:
            return 0, 0
        router = Router(self._frame, self._fields, slots)
        return counts(self._frame, slots, deferred(map(router.route, taps(self._frame, template))))

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
        later = debts(self._frame, self._fields, slots, deferred(routes))
        blocking = [r for r in routes if later is None or r.deferral is None]
        blocked = sorted({i for route in blocking for i in route.blocked})
        if not blocked:
            yield draft.program(slots, [*settled, *routes], later or [])
            return
        open_ = tuple(tap for tap, route in routed if route.blocked or route.per_choice)
        fixed = (route for _, route in routed if not (route.blocked or route.per_choice))
        costs = (open_, (*settled, *fixed))
        for chosen in with_fixed_lanes(slots, blocked):
            yield from self._fix_lanes(draft, chosen, costs)


def most_owed(frame: Frame, fields: Fields, templates: Iterable[Template]) -> tuple[int, int]:
    """Return how many fields of energy and of calls any of the templates can defer."""
    if sum(len(component.spatial) for component in frame.components) < 2:
        return 0, 0
    compiler = Compiler(frame, fields)
    owed = [compiler.owed(template) for template in templates]
    return max((one for one, _ in owed), default=0), max((two for _, two in owed), default=0)


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
        self._pins = [pinned(frame, template, slot) for slot in slots]

    def program(
        self, slots: tuple[Slot, ...], routes: Sequence[Route], later: Sequence[Debt]
    ) -> Program:
        """Put in the lanes that `slots` leave, and the costs where `routes` charge them."""
        at = Costs(routes, later)
        operations: list[Operation] = [at.charge(len(slots))]
        numbers: list[int | None] = [None]
        for index in range(len(slots) - 1, -1, -1):
            slot, own = slots[index], self._operations[index]
            if isinstance(slot, Fan) and any(prod(choice) > 1 for choice in slot.choices):
                own = at.deal(index, slot)
            if own is not None:
                operations.append(own)
                numbers.append(index)
            after: list[Operation] = [*at.settle(index), *at.charges(index, self._pins[index])]
            operations += after
            numbers += [None] * len(after)
        return Program(self.template, slots, tuple(operations), tuple(numbers))


class Costs:
    """Costs by the slot where they are charged, as operations."""

    def __init__(self, routes: Sequence[Route], later: Sequence[Debt]) -> None:
        self._adds: dict[int, list[Add]] = {}
        self._plus: dict[int, list[tuple[int, tuple[float, ...]]]] = {}
        self._times: dict[int, list[tuple[int, tuple[float, ...]]]] = {}
        self._paid: dict[int, list[Debt]] = {}
        for route in routes:
            self._adds.setdefault(route.slot, []).extend(route.adds)
            self._plus.setdefault(route.slot, []).extend(route.per_choice)
        for debt in later:
            for index, add in debt.adds:
                self._adds.setdefault(index, []).append(add)
            for index, values in debt.scales:
                self._times.setdefault(index, []).append((debt.field, values))
            self._paid.setdefault(debt.top, []).append(debt)

    def charge(self, index: int, pinned: tuple[Comparison, ...] = ()) -> Charge:
        """Return what is paid above slot `index`, for the tile there."""
        adds = sorted(add for add in self._adds.get(index, []) if add.factor != 0.0)
        return Charge(tuple(adds), pinned)

    def charges(self, index: int, pinned: tuple[Comparison, ...]) -> list[Charge]:
        """Return the same unless there is nothing to pay or to check."""
        charge = self.charge(index, pinned)
        return [charge] if charge.adds or pinned else []

    def deal(self, index: int, fan: Fan) -> Deal:
        """Return the operation of the dimension at slot `index`."""
        plus, times = self._plus.get(index, []), self._times.get(index, [])
        return Deal(fan, tuple(sorted(plus)), tuple(sorted(times)))

    def settle(self, index: int) -> list[Settle]:
        """Return the operation that pays what is owed above slot `index`, if anything is."""
        paid = self._paid.get(index, [])
        refunds = [add for debt in paid if debt.target == 0 for add in debt.refunds]
        moves = tuple((debt.field, debt.target) for debt in paid)
        return [Settle(moves, tuple(refunds))] if paid else []


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
