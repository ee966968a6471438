"""The dynamic program below the shared loops: everything under the lowest tensor on chip.

It is the program of lattice-dp.md §1 without its upper part, so one tree of operations serves all
layouts that agree below. Room in the second memory is summed and kept in the label, because what
other Einsums leave there is only known when they are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from tilewright.arch.components import Memory
from tilewright.mapper.cascade.layout import Layout
from tilewright.mapper.cascade.upper import ABOVE, Spread, lanes_of, sent_above, stride
from tilewright.mapper.mapspace.fanout import Fan
from tilewright.mapper.mapspace.frame import Frame, pinned
from tilewright.mapper.mapspace.points import reserved_bits
from tilewright.mapper.mapspace.skeleton import skeleton
from tilewright.mapper.mapspace.slots import Fill, Loops, Reserve, Slot
from tilewright.mapper.searches.budget import GROWTH, Budget
from tilewright.mapper.searches.deferrals import debts, deferred
from tilewright.mapper.searches.fares import at_fixed_lanes, fares_of
from tilewright.mapper.searches.fields import Fields
from tilewright.mapper.searches.hops import network_routes
from tilewright.mapper.searches.kernels import ENERGY, LATENCY, Floats
from tilewright.mapper.searches.metrics import Metrics
from tilewright.mapper.searches.order import below_deeper_lanes
from tilewright.mapper.searches.program import (
    Close,
    Costs,
    Deal,
    Occupy,
    Operation,
    Program,
    Slide,
    with_fixed_lanes,
)
from tilewright.mapper.searches.routes import Add, Route, Router
from tilewright.mapper.searches.tables import Engine, Outlook, Table, merged, scales
from tilewright.mapper.searches.taps import taps
from tilewright.mapper.searches.trie import Node, grow

MOST_BYTES = 400_000_000  # of the outlooks of one tree; of larger ones a branch at a time is kept
BRANCH_BYTES = 100_000_000

Legal = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Carried:
    """Where shared loops may stand: (variable, gaps), and which variables may be dealt over lanes
    above the region."""

    legal: Legal = ()
    lanes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Cut:
    """A layout, the loops that may be shared above its lowest tensor on chip, and the lanes."""

    layout: Layout
    legal: Legal
    spreads: tuple[Spread, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A layout cut at its lowest tensor on chip.

    `program.operations` are those below; `above[i]` = what reaching holder `layout.first + i` of
    the region costs, as a function of the tile there; `legal`: variables that fused loops may use
    and their gaps; `spreads`: the lanes above the region, which the labels count as one; `sent`:
    what these send over Networks, as a function of the tile right below them.
    """

    layout: Layout
    program: Program
    above: tuple[tuple[Add, ...], ...]
    legal: Legal
    spreads: tuple[Spread, ...] = ()
    sent: tuple[Add, ...] = ()


def parts(frame: Frame, fields: Fields, layout: Layout, rules: Carried) -> Iterator[Part]:
    """Compile `layout`; several parts when lanes must be enumerated outside the program.

    None where lanes above a holder of an outer memory would count in a way that is not modelled
    (free_orders in layout.py).
    """
    slots = skeleton(frame, layout.template)
    fans = [slot for slot in slots if isinstance(slot, Fan)]
    if not frame.rules.sinks and below_deeper_lanes(frame, slots) is not None:
        return
    if not all(fan.choices for fan in fans):
        return
    if not layout.region:
        yield from _fix_lanes(frame, fields, Cut(layout, rules.legal), slots)
        return
    for fixed, spreads in lanes_of(frame, slots, _cut(slots, layout), rules.lanes):
        legal = rules.legal
        if spreads:
            legal = tuple((v, (*gaps, ABOVE) if 0 in gaps else gaps) for v, gaps in legal)
        yield from _fix_lanes(frame, fields, Cut(layout, legal, spreads), fixed)


def _cut(slots: Sequence[Slot], layout: Layout) -> int:
    """Return the place of the lowest tensor on chip among the slots."""
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    return fills[layout.split]


def _fix_lanes(frame: Frame, fields: Fields, cut: Cut, slots: tuple[Slot, ...]) -> Iterator[Part]:
    """Enumerate the dimensions whose lanes some cost needs to know, then compile."""
    template = cut.layout.template
    router = Router(frame, fields, slots)
    routes = [router.route(tap) for tap in taps(frame, template)]
    upper, hops = _hops((frame, fields), cut, slots)
    routes += hops
    later = debts(frame, fields, slots, deferred(routes))
    if later is not None and any(debt.top <= _cut(slots, cut.layout) for debt in later):
        later = None  # it would be paid above the program
    blocking = [route for route in routes if later is None or route.deferral is None]
    blocked = sorted({i for route in blocking for i in route.blocked})
    if not blocked:
        sent = sent_above(slots, _cut(slots, cut.layout), upper) if upper else ()
        yield _compile((frame, fields), cut, slots, (Costs(routes, later or []), sent))
        return
    for fixed in with_fixed_lanes(slots, blocked):
        yield from _fix_lanes(frame, fields, cut, fixed)


def _hops(
    problem: tuple[Frame, Fields], cut: Cut, slots: tuple[Slot, ...]
) -> tuple[list[Route], list[Route]]:
    """Return where to charge what lanes send over Networks: those above the region, and others."""
    if not problem[0].has_networks:
        return [], []
    limit = _cut(slots, cut.layout)
    asked = (*problem, cut.layout.template, slots)
    free = fares_of(*asked)
    if free:
        upper = at_fixed_lanes(free, limit) if cut.spreads else []
        return upper, [r for r in free if not (cut.spreads and r.fares and r.slot < limit)]
    hops = list(network_routes(*asked))
    upper = [r for r in hops if cut.spreads and r.adds and r.slot <= limit]
    return upper, [route for route in hops if route not in upper]


def _compile(
    problem: tuple[Frame, Fields],
    cut: Cut,
    slots: tuple[Slot, ...],
    costs: tuple[Costs, tuple[Add, ...]],
) -> Part:
    (frame, fields), layout, (at, sent) = problem, cut.layout, costs
    operations: list[Operation] = [at.charge(len(slots))]
    numbers: list[int | None] = [None]
    start = _cut(slots, layout) + 1
    for index in range(len(slots) - 1, start, -1):
        for operation in _operations(frame, fields, slots[start + 1 :], slots[index]):
            made = operation
            if isinstance(operation, Deal):
                made = at.deal(index, operation.fan)
            operations.append(made)
            numbers.append(index)
        pins = pinned(frame, layout.template, slots[index])
        after: list[Operation] = [*at.settle(index), *at.charges(index, pins)]
        operations += after
        numbers += [None] * len(after)
    upper = [(i, s) for i, s in enumerate(slots[:start]) if isinstance(s, Fan) and cut.spreads]
    for index, fan in reversed(upper):
        operations.append(at.deal(index, fan))
        numbers.append(None)
    program = Program(layout.template, slots, tuple(operations), tuple(numbers))
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    region = fills[layout.first : layout.split + 1]
    shares = np.ones(fields.width)
    for _, fan in upper:
        shares *= scales(frame, fields, fan)[0]
    above = tuple(_scaled(at.charge(i).adds, shares) for i in region)
    return Part(layout, program, above, cut.legal, cut.spreads, _scaled(sent, shares))


def _scaled(adds: Sequence[Add], shares: Floats) -> tuple[Add, ...]:
    """Return costs below lanes that labels count already: calls of one instance are its share."""
    return tuple(replace(add, factor=add.factor * float(shares[add.field])) for add in adds)


def _operations(
    frame: Frame, fields: Fields, lower: Sequence[Slot], slot: Slot
) -> Iterator[Operation]:
    if isinstance(slot, Loops):
        yield Slide(slot.variables) if slot.single else Close(slot.variables)
    elif isinstance(slot, Fan):
        if any(prod(choice) > 1 for choice in slot.choices):
            yield Deal(slot, ())
    elif isinstance(slot, Reserve):
        yield from _occupy(frame, fields, lower, slot)


def _occupy(
    frame: Frame, fields: Fields, lower: Sequence[Slot], slot: Reserve
) -> Iterator[Operation]:
    """Room in the second memory stays in the label, and in those whose usage counts; deeper
    memories are free again above."""
    if slot.component not in fields.room:
        return
    memories = [c for c in frame.components if isinstance(c, Memory)]
    if slot.component == memories[1].name or slot.component in fields.summed:
        yield Occupy(slot, True, False)
        return
    memory = frame.holder(slot.component)
    assert isinstance(memory, Memory)
    same = [s for s in lower if isinstance(s, Reserve) and s.component == slot.component]
    if sum(reserved_bits(frame, s, frame.einsum.bounds) for s in same) > memory.size:
        yield Occupy(slot, len(same) > 1, slot is same[0])


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides about loops above tensors on chip (see Boundaries), and the room there is in the
    memories that they are exchanged in.

    `timed`: latency counts; `fused`: loops may stand there at all, `repeats` of a variable at most;
    `used`: memories whose usage counts (Usage.of_points).
    """

    carried: Mapping[str, frozenset[str]]
    contested: frozenset[str]
    tiled: frozenset[str]
    apart: frozenset[str]
    shares_room: bool
    memories: tuple[str, ...]
    capacities: tuple[float, ...]
    timed: bool
    fused: bool
    repeats: int = 1
    used: tuple[str, ...] = ()


_NONE = np.zeros((0, 0))


@dataclass(frozen=True, slots=True)
class Solved:
    """The `labels` of one part, and the tables that lead to them (innermost first): of these only
    where labels begin and come from."""

    part: Part
    labels: Floats
    path: tuple[Table, ...]


class LowerSearch:
    """Runs the programs of many parts, sharing what they have in common. Before anything is asked
    of it, it looks ahead."""

    def __init__(self, engine: Engine, parts: Sequence[Part], rules: Rules) -> None:
        self._engine = engine
        self._rules = rules
        self._nd = 0
        self._budget = Budget()
        self._bound = np.zeros(0)
        self._parts = {id(part.program): part for part in parts}
        self._solved: list[Solved] = []
        self._kept = 0
        self._root = grow(part.program for part in parts)
        self._branch = self._root.size
        each = 2 * 8 * engine.lattice.size  # bytes of the outlook that a node has of its own
        if self._root.size * each > MOST_BYTES:
            self._branch = BRANCH_BYTES // each
        self.nbytes = (self._branch + _above(self._root, self._branch)) * each
        """Bytes of the outlooks that are kept at a time."""
        self.labels = 0

    def look_ahead(self, check: Callable[[], None]) -> None:
        """Fill in the bounds: this takes the memory."""
        self._look_ahead(self._root, check)

    def solve(self, bound: Floats, budget: Budget, nd: int) -> list[Solved]:
        """Return the labels of every part that can lead below `bound` (see kernels.py).

        `nd`: leading fields that decide between labels.
        """
        self._nd = nd
        self._bound, self._budget = bound, budget
        self._solved, self._kept = [], 0
        self._visit(self._root, self._engine.initial(), ())
        solved, self._solved = self._solved, []
        return solved

    def start(self, metrics: Metrics) -> tuple[float, float]:
        """Return a lower bound of the energy and of the latency of one instance."""
        before = self._root.before
        assert before is not None
        label = self._engine.initial().label.copy()
        label[0, 0] += before.rest[0]
        label[0, self._engine.fields.lanes] *= max(float(before.gain[0]), 1.0)
        energy, latency = (float(metrics.floor(label, kind)[0]) for kind in (ENERGY, LATENCY))
        return energy, latency

    def _look_ahead(self, node: Node, check: Callable[[], None]) -> Outlook:
        """Fill in where labels can still arrive: only fused loops stand above."""
        check()
        views = [self._look_ahead(child, check) for child in node.children.values()]
        views += [self._final(self._parts[id(end)]) for end in node.ends]
        node.after = merged(views) if views else self._nowhere()
        node.before = (
            node.after if node.operation is None else self._engine.undo(node.operation, node.after)
        )
        if node.size > self._branch:
            for child in node.children.values():
                self._forget(child)
        return node.before

    def _forget(self, node: Node) -> None:
        """Drop the outlooks below the foot of a branch: they are made again when it is visited."""
        if node.size > self._branch:
            return
        below = list(node.children.values())
        for one in below:
            one.before = one.after = None
            below += one.children.values()

    def _nowhere(self) -> Outlook:
        """Return the outlook without any part: no label arrives."""
        size = self._engine.lattice.size
        return Outlook(np.full(size, inf), np.zeros(size))

    def _final(self, part: Part) -> Outlook:
        """Return where labels may arrive, and the least that the region above costs them."""
        lattice = self._engine.lattice
        whole = lattice.tiles == np.array(lattice.bounds)
        free = {v for v, _ in part.legal}
        fixed = [v for v in range(len(lattice.bounds)) if v not in free]
        arrived = whole[:, fixed].all(axis=1) & self._has_room(part)
        priced = zip(part.layout.region, part.above, strict=True)
        adds = [add for holder, some in priced if not holder.backing for add in some]
        adds += part.sent
        least = sum(self._least(add) for add in adds if add.field == 0)
        return Outlook(np.where(arrived, least, inf), np.where(arrived, 1.0, 0.0))

    def _has_room(self, part: Part) -> NDArray[np.bool_]:
        """Tell where the tensors on chip fit, no larger than below all fused loops."""
        fits = np.ones(self._engine.lattice.size, np.bool_)
        step = stride(self._engine.lattice, part.spreads)
        for memory, size in zip(self._rules.memories, self._rules.capacities, strict=True):
            here = [place for place in part.layout.on_chip if place.memory == memory]
            if size < inf and here:
                total = sum(bits_of(self._engine, *place) for place in here)
                fits &= np.roll(total, step) <= size
        return fits

    def _least(self, add: Add) -> float:
        counts = self._engine.count(add.tensor, add.kind, add.lanes)
        return add.factor * float(counts.min() if add.factor > 0 else counts.max())

    def _visit(self, node: Node, table: Table, path: tuple[Table, ...]) -> None:
        path = (*path, replace(table, label=_NONE))
        self._solved += [Solved(self._parts[id(end)], table.label, path) for end in node.ends]
        forgotten = [child for child in node.children.values() if child.before is None]
        for child in forgotten:
            self._look_ahead(child, self._budget.check)
        for child in node.children.values():
            assert child.operation is not None
            assert child.before is not None
            assert child.after is not None
            views = (child.before, child.after, self._bound)
            self._budget.check(more=GROWTH * table.label.nbytes)
            following = self._engine.apply(child.operation, table, self._nd, views)
            self.labels += following.label.shape[0]
            self._kept += following.label.shape[0]
            self._budget.check(self._kept)
            if following.label.shape[0]:
                self._visit(child, following, path)
        if forgotten:
            self._forget(node)


def _above(node: Node, branch: int) -> int:
    """Return how many nodes of a tree are the foot of a branch of so many nodes, or above it."""
    if node.size <= branch:
        return 1
    return 1 + sum(_above(child, branch) for child in node.children.values())


def bits_of(engine: Engine, tensor: str, memory: str) -> Floats:
    """Return the bits of `tensor` in `memory` per tile."""
    frame = engine.frame
    access = frame.einsum.access(tensor)
    width = float(frame.holder(memory).bits_per_value.get(tensor, access.bits_per_value))
    return engine.lattice.occupancy(access) * width
