"""Join the tables of all Einsums, in order, exactly (lattice-dp.md §8.3–8.5).

The state between two Einsums is the loops that both sides share and where each live tensor stands.
First a pass over these keys alone: without capacity between Einsums, the least that still has to
be paid from each key is a lower bound. Then labels are passed on, pruned with that bound against a
limit that is raised until a solution lies below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, prod

from tilewright.mapper.cascade.boundary import Boundaries
from tilewright.mapper.cascade.table import Loop, Row, Table

Key = tuple[tuple[Loop, ...], tuple[int, ...]]  # shared loops; depth per live tensor, -1: outside
START: Key = ((), ())


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
    of the live tensors before.
    """

    tables: tuple[Table, ...]
    before: tuple[Extent, ...]
    shared: tuple[tuple[int, int], ...]
    kept: tuple[tuple[int | None, int | None], ...]
    new: tuple[int, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all computes that can do the Einsum."""
        return tuple(row for table in self.tables for row in table.rows)

    def live_bits(self, key: Key) -> float:
        """Return the bits of tensors on chip that stand below all shared loops of `key`."""
        loops, depths = key
        return sum(
            extent.below(loops)
            for extent, depth in zip(self.before, depths, strict=True)
            if depth == len(loops)
        )


@dataclass(frozen=True, slots=True)
class Edge:
    """A row that continues a key, and where it leads."""

    row: Row
    target: Key


def steps_of(boundaries: Boundaries, tables: Sequence[tuple[Table, ...]]) -> tuple[Step, ...]:
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
        steps.append(Step(several, tuple(extents[t] for t in before), shared, kept, new))
        extents |= {t: _extent(table, t) for t in table.boundary}
        before = after
    return tuple(steps)


def _extent(table: Table, tensor: str) -> Extent:
    bounds = table.einsum.bounds
    variables = sorted(table.einsum.access(tensor).rank_variables)
    return Extent(tuple((v, bounds[v]) for v in variables), table.widths[tensor])


class RowIndex:
    """Finds the rows that agree with a key: same depths of shared tensors, same first loops."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._rows: dict[tuple[tuple[int, ...], tuple[Loop, ...]], list[Row]] = {}
        for row in step.rows:
            depths = tuple(row.depths[place] for _, place in step.shared)
            for count in range(max(0, *depths) if depths else 0, len(row.loops) + 1):
                self._rows.setdefault((depths, row.loops[:count]), []).append(row)

    def edges(self, key: Key) -> Iterator[Edge]:
        """Yield the rows that continue `key`."""
        loops, depths = key
        shared = tuple(depths[place] for place, _ in self._step.shared)
        for row in self._rows.get((shared, loops), ()):
            target = self._target(depths, row)
            if target is not None:
                yield Edge(row, target)

    def _target(self, depths: tuple[int, ...], row: Row) -> Key | None:
        """Return the key after the row; None if an older tensor could not be carried along."""
        right = older = 0
        after: list[int] = []
        for before, place in self._step.kept:
            if place is not None:
                after.append(row.depths[place])
                right = max(right, after[-1])
            else:
                assert before is not None
                after.append(depths[before])
                older = max(older, after[-1])
        return None if older > right else (row.loops[:right], tuple(after))


@dataclass(frozen=True, slots=True)
class Graph:
    """All keys with their edges. `reach[i][key]`: least (energy, latency) from the start to key
    before Einsum i; `rest[i][key]`: from there to the end, inf if there is no way."""

    steps: tuple[Step, ...]
    edges: tuple[dict[Key, list[Edge]], ...]
    reach: tuple[dict[Key, tuple[float, float]], ...]
    rest: tuple[dict[Key, tuple[float, float]], ...]

    @property
    def keys(self) -> int:
        """Keys and edges looked at."""
        return sum(len(edges) + sum(map(len, edges.values())) for edges in self.edges)


def graph_of(steps: tuple[Step, ...]) -> Graph:
    """Walk the keys forwards, then the costs backwards."""
    reach: list[dict[Key, tuple[float, float]]] = [{START: (0.0, 0.0)}]
    edges: list[dict[Key, list[Edge]]] = []
    for step in steps:
        index = RowIndex(step)
        following: dict[Key, tuple[float, float]] = {}
        least = {id(row): row.least for row in step.rows}
        edges.append({})
        for key, paid in reach[-1].items():
            edges[-1][key] = found = list(index.edges(key))
            for edge in found:
                cost = least[id(edge.row)]
                known = following.get(edge.target, (inf, inf))
                following[edge.target] = (
                    min(known[0], paid[0] + cost[0]),
                    min(known[1], paid[1] + cost[1]),
                )
        reach.append(following)
    return Graph(steps, tuple(edges), tuple(reach), _rest(steps, edges, reach))


def _rest(
    steps: tuple[Step, ...],
    edges: Sequence[dict[Key, list[Edge]]],
    reach: Sequence[dict[Key, tuple[float, float]]],
) -> tuple[dict[Key, tuple[float, float]], ...]:
    rest = [dict.fromkeys(reach[-1], (0.0, 0.0))]
    for number in range(len(steps) - 1, -1, -1):
        least = {id(row): row.least for row in steps[number].rows}
        below = rest[-1]
        here: dict[Key, tuple[float, float]] = {}
        for key, found in edges[number].items():
            energy = latency = inf
            for edge in found:
                cost, more = least[id(edge.row)], below[edge.target]
                energy = min(energy, cost[0] + more[0])
                latency = min(latency, cost[1] + more[1])
            here[key] = (energy, latency)
        rest.append(here)
    return tuple(reversed(rest))
