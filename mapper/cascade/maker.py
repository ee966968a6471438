"""Make the tables of a workload; Einsums that differ in names only are solved once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from math import inf

from tilewright.arch.flat import FlatArch
from tilewright.mapper.cascade.boundary import Boundaries
from tilewright.mapper.cascade.layout import banned_above, layouts, memories_of
from tilewright.mapper.cascade.lower import LowerSearch, Part, parts
from tilewright.mapper.cascade.rows import RowMaker, Rules, gaps_of
from tilewright.mapper.cascade.table import Solution, Table, named
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.fields import fields
from tilewright.mapper.searches.identical import signature
from tilewright.mapper.searches.metrics import Metrics
from tilewright.mapper.searches.problem import leaks_of, refuse_unsupported
from tilewright.mapper.searches.result import Statistics
from tilewright.mapper.searches.tables import Engine


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
        table = named(self._known[key], space, boundary, self._capacity)
        return (
            replace(table, rows=tuple(replace(row, table=number) for row in table.rows))
            if number
            else table
        )

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
        solved = lower.solve(compiled)
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
            banned = banned_above(space, layout)
            places = [gaps_of(name, layout, rules.carried, banned) for name in names]
            legal = tuple((v, gaps) for v, gaps in enumerate(places) if gaps)
            found += parts(space.frame, engine.fields, layout, legal)
        return found
