"""Join the tables of all Einsums, in order, exactly (lattice-dp.md §8.3–8.5).

The state between two Einsums is the loops that both sides share and where each live tensor stands.
First a pass over these keys alone: without capacity between Einsums, the least that still has to
be paid from each key is a lower bound. Then labels are passed on, pruned with that bound against a
limit that is raised until a solution lies below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

from tilewright.mapper.cascade.boundary import Boundaries
from tilewright.mapper.cascade.budget import Budget
from tilewright.mapper.cascade.lone import LoneTable
from tilewright.mapper.cascade.table import Loop, Row, Table

# contested tensor, loops that an earlier user shares, loops above its holder (-1: not held there)
Pending = tuple[str, int, int]
# shared loops; depth per live tensor (-1: not on chip); contested tensors
Key = tuple[tuple[Loop, ...], tuple[int, ...], tuple[Pending, ...]]
START: Key = ((), (), ())
ROW, EDGE = 8, 3  # labels that take as much memory


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a tensor below some loops: `bounds` of its variables, `bits` per value."""

    bounds: tuple[Loop, ...]
    bits: float

    def below(self, loops: tuple[Loop, ...]) -> float:
        """Return its bits below `loops`."""
        tiles = dict(loops)
        return self.bits * prod(tiles.get(name, bound) for name, bound in self.bounds)


@dataclass(frozen=True, slots=True)
class Step:
    """How to join one Einsum. Positions count live tensors before, after, and boundary tensors.

    `shared`: (before, row) of tensors that it reads; `kept`: per live tensor after, (before, row),
    None where it has no place; `new`: row positions of tensors that it writes; `before`: the sizes
    of the live tensors before; `contested`: sizes of contested tensors that it touches; `later`:
    contested tensors that a later Einsum touches.
    """

    tables: tuple[Table | LoneTable, ...]
    before: tuple[Extent, ...]
    shared: tuple[tuple[int, int], ...]
    kept: tuple[tuple[int | None, int | None], ...]
    new: tuple[int, ...]
    contested: Mapping[str, Extent]
    later: frozenset[str]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all computes that can do the Einsum."""
        return tuple(row for table in self.tables for row in table.rows)

    def live_bits(self, key: Key) -> float:
        """Return the bits of tensors on chip that stand below all shared loops of `key`."""
        loops, depths, _ = key
        return sum(
            extent.below(loops)
            for extent, depth in zip(self.before, depths, strict=True)
            if depth == len(loops)
        )


Edge = tuple[Row, Key]  # a row that continues a key, and where it leads


def steps_of(
    boundaries: Boundaries, tables: Sequence[tuple[Table | LoneTable, ...]]
) -> tuple[Step, ...]:
    """Prepare how each Einsum is joined; `tables`: one per compute that can do it."""
    steps: list[Step] = []
    before: tuple[str, ...] = ()
    extents: dict[str, Extent] = {}
    for number, several in enumerate(tables):
        table = several[0]
        after = boundaries.live_after(number)
        place = {t: i for i, t in enumerate(table.boundary)}
        earlier = {t: i for i, t in enumerate(before)}
        shared = tuple((earlier[t], place[t]) for t in before if t in place)
        kept = tuple((earlier.get(t), place.get(t)) for t in after)
        new = tuple(place[t] for t in table.boundary if t not in earlier)
        contested = boundaries.contested
        touched = {t: _extent(table, t) for t in table.widths if t in contested}
        later = frozenset(t for t in contested if boundaries.users[t][-1] > number)
        sizes = tuple(extents[t] for t in before)
        steps.append(Step(several, sizes, shared, kept, new, touched, later))
        extents |= {t: _extent(table, t) for t in table.boundary}
        before = after
    return tuple(steps)


def _extent(table: Table | LoneTable, tensor: str) -> Extent:
    bounds = table.einsum.bounds
    variables = sorted(table.einsum.access(tensor).rank_variables)
    return Extent(tuple((v, bounds[v]) for v in variables), table.widths[tensor])


class RowIndex:
    """Finds the rows that agree with a key: same depths of shared tensors, same first loops."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._rows: dict[tuple[tuple[int, ...], tuple[Loop, ...]], list[Row]] = {}
        self._outside: dict[object, dict[str, int]] = {}
        for row in step.rows:
            if (row.depths, row.held) not in self._outside:
                self._outside[row.depths, row.held] = self._contested(row)
            depths = tuple(row.depths[place] for _, place in step.shared)
            for count in range(max(0, *depths) if depths else 0, len(row.loops) + 1):
                self._rows.setdefault((depths, row.loops[:count]), []).append(row)

    def edges(self, key: Key) -> Iterator[Edge]:
        """Yield the rows that continue `key`."""
        loops, depths, pending = key
        shared = tuple(depths[place] for place, _ in self._step.shared)
        for row in self._rows.get((shared, loops), ()):
            target = self._target(depths, pending, row)
            if target is not None:
                yield row, target

    def _target(
        self, depths: tuple[int, ...], pending: tuple[Pending, ...], row: Row
    ) -> Key | None:
        """Return the key after the row; None if a contested tensor would stand in two places above
        one loop.

        An older tensor that the row does not touch is carried along: the row runs in all loops
        above it (accelforge refuses that if no tensor of the row stays live as deep).
        """
        shared = 0
        after: list[int] = []
        for before, place in self._step.kept:
            if place is not None:
                after.append(row.depths[place])
            else:
                assert before is not None
                after.append(depths[before])
            shared = max(shared, after[-1])
        waiting = self._pending(pending, row, shared)
        return None if waiting is None else (row.loops[:shared], tuple(after), waiting)

    def _pending(
        self, pending: tuple[Pending, ...], row: Row, shared: int
    ) -> tuple[Pending, ...] | None:
        """Follow the contested tensors; None if users above one loop disagree about a place."""
        outside = self._outside[row.depths, row.held]
        if not pending and not outside:
            return ()
        found: dict[str, Pending] = {}
        for tensor, reach, place in pending:
            if tensor in outside:
                own = outside[tensor]
                if (own if own < reach else -1) != place:
                    return None
            elif min(reach, shared) > 0:
                left = min(reach, shared)
                found[tensor] = (tensor, left, place if place < left else -1)
        if shared > 0:
            for tensor, own in outside.items():
                found[tensor] = (tensor, shared, own if own < shared else -1)
        return tuple(found[t] for t in sorted(found) if t in self._step.later)

    def _contested(self, row: Row) -> dict[str, int]:
        """Return the contested tensors that the row does not keep on chip, with the loops above
        their holder (-1: not held above the innermost)."""
        boundary = self._step.tables[0].boundary
        on_chip = {t for t, depth in zip(boundary, row.depths, strict=True) if depth >= 0}
        held = dict(row.held)
        return {t: held.get(t, -1) for t in self._step.contested if t not in on_chip}


@dataclass(frozen=True, slots=True)
class Graph:
    """All keys with their edges.

    `least[i][id(row)]`: the least energy and latency of a row; `reach[i][key]`: the least of both
    from the start to key before Einsum i; `rest[i][key]`: from there to the end, inf if there is no
    way.
    """

    steps: tuple[Step, ...]
    edges: tuple[dict[Key, list[Edge]], ...]
    least: tuple[dict[int, tuple[float, float]], ...]
    reach: tuple[dict[Key, tuple[float, float]], ...]
    rest: tuple[dict[Key, tuple[float, float]], ...]

    @property
    def keys(self) -> int:
        """Keys and edges looked at."""
        return sum(len(edges) + sum(map(len, edges.values())) for edges in self.edges)


def graph_of(steps: tuple[Step, ...], budget: Budget) -> Graph:
    """Walk the keys forwards, then the costs backwards."""
    reach: list[dict[Key, tuple[float, float]]] = [{START: (0.0, 0.0)}]
    edges: list[dict[Key, list[Edge]]] = []
    costs = tuple({id(row): row.least for row in step.rows} for step in steps)
    count = 0
    for step, least in zip(steps, costs, strict=True):
        budget.check(ROW * len(step.rows))
        index = RowIndex(step)
        following: dict[Key, tuple[float, float]] = {}
        edges.append({})
        for key, paid in reach[-1].items():
            budget.check()
            edges[-1][key] = found = list(index.edges(key))
            budget.check(EDGE * (count := count + len(found)))
            for row, target in found:
                cost = least[id(row)]
                known = following.get(target, (inf, inf))
                following[target] = (
                    min(known[0], paid[0] + cost[0]),
                    min(known[1], paid[1] + cost[1]),
                )
        reach.append(following)
    return Graph(steps, tuple(edges), costs, tuple(reach), _rest(costs, edges, reach))


def _rest(
    costs: Sequence[dict[int, tuple[float, float]]],
    edges: Sequence[dict[Key, list[Edge]]],
    reach: Sequence[dict[Key, tuple[float, float]]],
) -> tuple[dict[Key, tuple[float, float]], ...]:
    rest = [dict.fromkeys(reach[-1], (0.0, 0.0))]
    for number in range(len(costs) - 1, -1, -1):
        least = costs[number]
        below = rest[-1]
        here: dict[Key, tuple[float, float]] = {}
        for key, found in edges[number].items():
            energy = latency = inf
            for row, target in found:
                cost, more = least[id(row)], below[target]
                energy = min(energy, cost[0] + more[0])
                latency = min(latency, cost[1] + more[1])
            here[key] = (energy, latency)
        rest.append(here)
    return tuple(reversed(rest))
