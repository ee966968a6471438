"""Join the tables of all Einsums, in order: the graph of keys (fusion.md §4, §6.1).

The state between two Einsums is the loops that both sides share and where each live tensor stands.
This is a pass over these keys alone: without capacity between Einsums, the least that still has to
be paid from each key is a lower bound. Keys of one form differ in tiles only, so that everything is
done for all of them at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import Place
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.fused_problem import Pair
from tilewright.mapper.fusion.join.join_steps import START, Form, Pending, Step, Tiling
from tilewright.mapper.fusion.pmappings.pmapping_table import Rows
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints

# of the Einsums behind number i, with these tensors on chip: the least they cost
ToGo = Callable[[int, frozenset[Place]], Pair]


@dataclass(frozen=True, slots=True)
class Limits:
    """The `most` that a mapping may cost, and a bound of what is still to be paid."""

    most: Pair
    to_go: ToGo


@dataclass(frozen=True, eq=False, slots=True)
class Edges:
    """Rows of one shape that continue keys of one form; one entry per edge: the number of the key,
    of the row, and of the key that it leads to."""

    source: Form
    rows: Rows
    target: Form
    keys: Ints
    numbers: Ints
    ends: Ints

    def some(self, chosen: Ints) -> Edges:
        """Return some of the edges."""
        return Edges(
            self.source, self.rows, self.target,
            self.keys[chosen], self.numbers[chosen], self.ends[chosen],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Graph:
    """All keys with their edges.

    `codes[i]`: the keys before Einsum i, per form, as numbers of `tiling`; `edges[i]`: its edges,
    by source; `rest[i]`: the least energy and latency from there to the end, inf if there is no
    way; shape (keys, 2).
    """

    steps: tuple[Step, ...]
    tiling: Tiling
    codes: tuple[dict[Form, Ints], ...]
    edges: tuple[tuple[Edges, ...], ...]
    rest: tuple[dict[Form, Floats], ...]

    @property
    def keys(self) -> int:
        """Keys and edges looked at."""
        edges = sum(len(some.keys) for step in self.edges for some in step)
        return edges + sum(len(codes) for forms in self.codes for codes in forms.values())

    @property
    def least(self) -> Pair:
        """The least energy and latency of a mapping, each on its own."""
        first = self.rest[0].get(START)
        return (inf, inf) if first is None else (float(first[0, 0]), float(first[0, 1]))


def graph_of(steps: tuple[Step, ...], limits: Limits, budget: Budget) -> Graph:
    """Walk the keys forwards, then the costs backwards."""
    tiling = Tiling(steps)
    codes: list[dict[Form, Ints]] = [{START: np.zeros(1, np.int64)}]
    reach: dict[Form, Floats] = {START: np.zeros((1, 2))}
    edges: list[tuple[Edges, ...]] = []
    for number in range(len(steps)):
        budget.check()
        joined = _joined(_Side(number, steps[number], tiling, budget), (codes[-1], reach), limits)
        edges.append(joined)
        following, reach = _reached(joined, reach)
        codes.append(following)
        edges[-1] = tuple(_numbered(one, following[one.target]) for one in joined)
        budget.check(sum(len(one.keys) for step in edges for one in step))
    return Graph(steps, tiling, tuple(codes), tuple(edges), _rest(edges, codes))


@dataclass(frozen=True, slots=True)
class _Side:
    """One Einsum to join."""

    number: int
    step: Step
    tiling: Tiling
    budget: Budget


def _joined(
    side: _Side, before: tuple[dict[Form, Ints], dict[Form, Floats]], limits: Limits
) -> tuple[Edges, ...]:
    """Return the edges of one step; instead of the numbers of their ends the codes of these."""
    tiling, index = side.tiling, _index(side.step)
    packed = {id(rows): tiling.codes(rows) for rows in side.step.rows}
    found: list[Edges] = []
    for form, codes in before[0].items():
        side.budget.check()
        shared = tuple(form.depths[place] for place, _ in side.step.shared)
        reach = before[1][form]
        for rows in index.get((shared, form.loops), ()):
            target = target_of(side.step, form, rows)
            if target is None:
                continue
            own = packed[id(rows)]
            head = tiling.head(own, len(form.loops))
            keys = np.minimum(np.searchsorted(codes, head), len(codes) - 1)
            on_chip = frozenset(
                t for t, d in zip(side.step.live, target.depths, strict=True) if d >= 0
            )
            more = limits.to_go(side.number, on_chip)
            cost = reach[keys] + rows.least + np.array(more)
            fine = (codes[keys] == head) & (cost <= np.array(limits.most)).all(axis=1)
            if len(numbers := np.flatnonzero(fine)):
                ends = tiling.head(own[numbers], len(target.loops))
                found.append(Edges(form, rows, target, keys[numbers], numbers, ends))
    return tuple(found)


def _index(step: Step) -> dict[tuple[tuple[int, ...], tuple[LoopName, ...]], list[Rows]]:
    """File the rows by depths of shared tensors and first loops."""
    found: dict[tuple[tuple[int, ...], tuple[LoopName, ...]], list[Rows]] = {}
    for rows in step.rows:
        depths = tuple(rows.depths[place] for _, place in step.shared)
        for count in range(max(0, *depths) if depths else 0, len(rows.loops) + 1):
            found.setdefault((depths, rows.loops[:count]), []).append(rows)
    return found


def _reached(
    edges: Sequence[Edges], reach: dict[Form, Floats]
) -> tuple[dict[Form, Ints], dict[Form, Floats]]:
    """Return the keys after a step, and the least cost of a way to each."""
    ends: dict[Form, list[Ints]] = {}
    for one in edges:
        ends.setdefault(one.target, []).append(one.ends)
    codes = {form: np.unique(np.concatenate(few)) for form, few in ends.items()}
    after = {form: np.full((len(few), 2), inf) for form, few in codes.items()}
    for one in edges:
        cost = reach[one.source][one.keys] + one.rows.least[one.numbers]
        np.minimum.at(after[one.target], np.searchsorted(codes[one.target], one.ends), cost)
    return codes, after


def _numbered(edges: Edges, codes: Ints) -> Edges:
    ends = np.searchsorted(codes, edges.ends)
    return Edges(edges.source, edges.rows, edges.target, edges.keys, edges.numbers, ends)


def _rest(
    edges: Sequence[Sequence[Edges]], codes: Sequence[dict[Form, Ints]]
) -> tuple[dict[Form, Floats], ...]:
    """Return what is still to be paid; energy and latency each take their own best way."""
    rest = [{form: np.zeros((len(few), 2)) for form, few in codes[-1].items()}]
    for number in range(len(edges) - 1, -1, -1):
        here = {form: np.full((len(few), 2), inf) for form, few in codes[number].items()}
        for one in edges[number]:
            cost = one.rows.least[one.numbers] + rest[-1][one.target][one.ends]
            np.minimum.at(here[one.source], one.keys, cost)
        rest.append(here)
    return tuple(reversed(rest))


def target_of(step: Step, form: Form, rows: Rows) -> Form | None:
    """Return the form of keys after the rows; None if a contested tensor would stand in two places
    above one loop.

    An older tensor that the rows do not touch is carried along: they run in all loops above it
    (accelforge refuses that if no tensor of the row stays live as deep).
    """
    after = tuple(_depth(before, place, form, rows) for before, place in step.kept)
    shared = max(0, *after) if after else 0
    pending = _pending(step, form, (rows, shared))
    outermost = _outermost(step, form, rows, after)
    if pending is None or outermost is None:
        return None
    outermost, waiting = outermost if shared else frozenset(), _waiting(step, form, rows, after)
    return Form(rows.loops[:shared], after, pending, outermost, waiting)


def _waiting(step: Step, form: Form, rows: Rows, after: tuple[int, ...]) -> frozenset[int]:
    """Return the numbers of live tensors on chip that take no room yet: copies do not hold them."""
    found: set[int] = set()
    for number, (before, place) in enumerate(step.kept):
        waited = before is None or before in form.waiting
        if after[number] >= 0 and waited and (place is None or place in rows.absent):
            found.add(number)
    return frozenset(found)


def _outermost(step: Step, form: Form, rows: Rows, after: tuple[int, ...]) -> frozenset[str] | None:
    """Return what the Einsums in the shared loops have in the outermost memory; None if there is no
    room for that, and for what is there between earlier and later Einsums."""
    if step.limit is None:
        return frozenset()
    boundary = step.tables[0].boundary
    on_chip = {p.tensor for p, depth in zip(boundary, rows.depths, strict=True) if depth >= 0}
    used = form.outermost | (frozenset(step.tables[0].einsum.tensors) - on_chip)
    stays = {p.tensor for p, depth in zip(step.live, after, strict=True) if depth >= 0}
    live = frozenset(place.tensor for place in step.live) - stays
    return used if step.limit.admits(used | live | step.passing) else None


def _depth(before: int | None, place: int | None, form: Form, rows: Rows) -> int:
    if place is not None:
        return rows.depths[place]
    assert before is not None
    return form.depths[before]


def _pending(step: Step, form: Form, after: tuple[Rows, int]) -> tuple[Pending, ...] | None:
    """Follow the contested tensors; None if users above one loop disagree about a place."""
    rows, shared = after
    own = step.tiles(rows)
    found: dict[Place, Pending] = {}
    for tensor, reach, tile in form.pending:
        if tensor in own:
            if own[tensor].stands(reach) != tile.stands(reach):
                return None
            own[tensor] = tile.joined(own[tensor], reach)
        elif (left := min(reach, shared)) > 0:
            found[tensor] = (tensor, left, tile.within(left))
    if shared > 0:
        for tensor, tile in own.items():
            found[tensor] = (tensor, shared, tile.within(shared))
    return tuple(found[p] for p in sorted(found) if p.tensor in step.later)
