"""The table of one Einsum: all its rows, under the names of the workload."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from math import inf

from tilewright.arch.flat import FlatArch
from tilewright.mapper.cascade.boundary import Boundaries
from tilewright.mapper.cascade.layout import layouts, memories_of
from tilewright.mapper.cascade.lower import LowerSearch, Part, Solved, parts
from tilewright.mapper.cascade.rows import Block, RowMaker, Rules, Shape, Source, gaps_of
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.fields import fields
from tilewright.mapper.searches.identical import signature
from tilewright.mapper.searches.metrics import Metrics
from tilewright.mapper.searches.problem import leaks_of, refuse_unsupported
from tilewright.mapper.searches.result import Statistics
from tilewright.mapper.searches.tables import Engine

Loop = tuple[str, int]  # rank variable, tile shape
Point = tuple[float, ...]  # energy, latency, bits above loop 1 … n, bits in all


@dataclass(frozen=True, slots=True)
class Row:
    """A choice of fused loops. `depths[i]`: loops above boundary tensor i, -1 if not on chip.

    `sizes[i]`: its bits there; `held`: (contested tensor, loops above) where it is held above the
    innermost loop; `points`: the labels; `origins`: where each comes from; `table`: number of the
    table, where several computes can do the Einsum.
    """

    loops: tuple[Loop, ...]
    depths: tuple[int, ...]
    sizes: tuple[float, ...]
    held: tuple[tuple[str, int], ...]
    points: tuple[Point, ...]
    origins: tuple[tuple[int, int], ...]  # (number of the source, label)
    table: int = 0

    @property
    def least(self) -> tuple[float, float]:
        """Least energy and least latency among the points."""
        return min(p[0] for p in self.points), min(p[1] for p in self.points)


@dataclass(frozen=True)
class Solution:
    """The rows of one space in numbers instead of names, and what leads to them."""

    space: Mapspace
    engine: Engine
    blocks: Mapping[Shape, Block]
    sources: tuple[Source, ...]
    statistics: Statistics


@dataclass(frozen=True)
class Table:
    """The rows of one Einsum. `boundary`: its tensors that may stay on chip; `widths`: the bits
    of a value of each of its tensors there."""

    einsum: Einsum
    boundary: tuple[str, ...]
    widths: Mapping[str, float]
    rows: tuple[Row, ...]
    solution: Solution
    space: Mapspace


class TableMaker:
    """Makes the tables of a workload; Einsums that differ in names only are solved once."""

    def __init__(self, boundaries: Boundaries, conventions: str, capacity: float, timed: bool):
        self._boundaries = boundaries
        self._conventions = conventions
        self._capacity = capacity
        self._timed = timed
        self._known: dict[Hashable, Solution] = {}
        self.statistics = Statistics()

    def table(self, einsum: Einsum, flat: FlatArch, number: int = 0) -> Table:
        """Return the table of `einsum` on `flat`; UnsupportedFeature for what it cannot model."""
        backed = frozenset(einsum.tensors) & self._boundaries.backed
        space = Mapspace(einsum, flat, self._conventions, backed)
        refuse_unsupported(space.frame)
        boundary = self._boundaries.of(einsum)
        key = (signature(space), einsum.n_instances, self._roles(einsum))
        if key not in self._known:
            self._known[key] = self._solve(space, frozenset(boundary))
            self.statistics = self.statistics.plus(self._known[key].statistics)
        return self._named(self._known[key], space, number)

    def _roles(self, einsum: Einsum) -> Hashable:
        """Return what the boundaries say about the Einsum, in numbers."""
        carried, contested = self._boundaries.carried, self._boundaries.contested
        return tuple(
            (
                tensor in contested,
                tuple(v in carried[tensor] for v in einsum.bounds) if tensor in carried else None,
            )
            for tensor in einsum.tensors
        )

    def _solve(self, space: Mapspace, chip: frozenset[str]) -> Solution:
        leaks = leaks_of(space.flat, space.conventions)
        timed = self._timed or bool(leaks)
        layout_of_label = fields(space.frame, any(leak.gates for leak in leaks))
        inner = memories_of(space.flat)[1]
        if self._capacity == inf and inner is not None:
            room = {m: f for m, f in layout_of_label.room.items() if m != inner.name}
            layout_of_label = replace(layout_of_label, room=room)
        engine = Engine(space.frame, layout_of_label)
        rules = Rules(
            self._boundaries.carried,
            self._boundaries.contested,
            inner.name if inner else None,
            self._capacity,
            timed,
        )
        compiled = self._parts(space, chip, engine, rules)
        nd = layout_of_label.width if timed else layout_of_label.n_energy
        lower = LowerSearch(engine, nd)
        solved: list[Solved] = lower.solve(compiled)
        maker = RowMaker(engine, Metrics(space.frame, layout_of_label, leaks), rules)
        blocks = maker.make(solved)
        counts = Statistics(len(compiled), engine.lattice.size, lower.labels, 0, 1)
        return Solution(space, engine, blocks, tuple(maker.sources), counts)

    def _parts(
        self, space: Mapspace, chip: frozenset[str], engine: Engine, rules: Rules
    ) -> list[Part]:
        names = tuple(space.einsum.bounds)
        found: list[Part] = []
        for layout in layouts(space, chip):
            free = frozenset(
                number
                for number, name in enumerate(names)
                if layout.region and gaps_of(name, layout.region, rules.carried)
            )
            found += parts(space.frame, engine.fields, layout, free)
        return found

    def _named(self, solution: Solution, space: Mapspace, number: int) -> Table:
        """Give the rows of a solution the names of `space`, a problem with the same signature."""
        boundary = self._boundaries.of(space.einsum)
        tensors = dict(zip(solution.space.einsum.tensors, space.einsum.tensors, strict=True))
        variables = tuple(space.einsum.bounds)
        widths = {t: _width(space, t) for t in space.einsum.tensors}
        rows: list[Row] = []
        for shape, block in solution.blocks.items():
            depth = {tensors[t]: d for t, d in shape.depths}
            depths = tuple(depth.get(t, -1) for t in boundary)
            held = tuple((tensors[t], d) for t, d in shape.held)
            for first, last in _groups(block.states.tolist()):
                tile = solution.engine.lattice.tiles[block.states[first]].tolist()
                loops = tuple((variables[v], int(tile[v])) for v in shape.order)
                sizes = tuple(
                    _bits(space, t, loops[:d]) * widths[t] if d >= 0 else 0.0
                    for t, d in zip(boundary, depths, strict=True)
                )
                points = tuple(tuple(p) for p in block.values[first:last].tolist())
                origins = tuple((int(s), int(i)) for s, i in block.origin[first:last].tolist())
                if max(sizes, default=0.0) <= self._capacity:
                    rows.append(Row(loops, depths, sizes, held, points, origins, number))
        return Table(space.einsum, boundary, widths, tuple(rows), solution, space)


def _groups(states: list[int]) -> list[tuple[int, int]]:
    """Return the runs of equal states."""
    starts = [i for i, s in enumerate(states) if i == 0 or s != states[i - 1]]
    return list(zip(starts, [*starts[1:], len(states)], strict=True)) if states else []


def _width(space: Mapspace, tensor: str) -> float:
    inner = memories_of(space.flat)[1]
    access = space.einsum.access(tensor)
    if inner is None:
        return 0.0
    return float(inner.bits_per_value.get(tensor, access.bits_per_value))


def _bits(space: Mapspace, tensor: str, loops: tuple[Loop, ...]) -> int:
    """Return the values of a tensor under the loops above it."""
    tile = dict(space.einsum.bounds) | dict(loops)
    return space.einsum.access(tensor).tile_size(tile)
