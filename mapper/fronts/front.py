"""The mappings of a Pareto front, as what a search returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import finite_or_none
from tilewright.mapper.fronts.knee import Column, knee

if TYPE_CHECKING:
    from tilewright.mapper.mapping.scored_mapping import ScoredMapping

METRICS = ("energy", "latency")


class Front(tuple["ScoredMapping", ...]):
    """The mappings that no other one beats, as a tuple of scored mappings.

    `metrics`: those that the front is over; energy and latency if none was asked for.
    """

    metrics: tuple[str, ...]

    def __new__(
        cls, points: Iterable[ScoredMapping] = (), metrics: tuple[str, ...] = METRICS
    ) -> Front:
        """Return the front of some points.

        `metrics`: names of the metrics that it is a front of.
        """
        front = super().__new__(cls, points)
        front.metrics = metrics
        return front

    def __reduce__(self) -> tuple[Any, ...]:
        return Front, (tuple(self), self.metrics)

    def __repr__(self) -> str:
        count = f"{len(self)} mapping{'' if len(self) == 1 else 's'}"
        return f"<Front of {count} over {', '.join(self.metrics)}>"

    def landmarks(self) -> dict[int, str]:
        """Return the numbers of the points to look at first, with why: corners and the knee.

        A corner is least in a metric. The knee is nearest to the least of all metrics, each
        measured from its least to its greatest value in the front.
        """
        if len(self) < 2:
            return {}
        rows = [[point.score.metric(name) for name in self.metrics] for point in self]
        columns = [Column(values) for values in zip(*rows, strict=True)]
        named = [pair for pair in zip(self.metrics, columns, strict=True) if pair[1].span > 0]
        marks = [(column.values.index(column.least), f"least {name}") for name, column in named]
        if named and len(self) > 2:
            marks.append((knee(columns), "knee"))
        marks.sort(key=lambda mark: mark[0])
        points = groupby(marks, key=lambda mark: mark[0])
        return {number: ", ".join(word for _, word in several) for number, several in points}

    def shortened(self, limit: int) -> tuple[int, ...]:
        """Return the numbers of at most `limit` points: landmarks, and others spread evenly.

        More than `limit` only if there are more landmarks than that.
        """
        if len(self) <= limit:
            return tuple(range(len(self)))
        chosen = set(self.landmarks())
        others = [number for number in range(len(self)) if number not in chosen]
        wanted = limit - len(chosen)
        chosen |= {others[(2 * i + 1) * len(others) // (2 * wanted)] for i in range(wanted)}
        return tuple(sorted(chosen))

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the metrics of each point as plain data (SI units, bits), with its mapping file.

        Infinite numbers become None.
        """
        from tilewright.mapper.mapping.mapping_file import dump_mapping

        return [
            {
                **{name: finite_or_none(point.score.metric(name)) for name in self.metrics},
                "verified": point.score.verified,
                "mapping": dump_mapping(point.mapping),
            }
            for point in self
        ]

    def to_pandas(self) -> Any:
        """Return the points as a pandas DataFrame: a column per metric, in SI units or bits.

        The index is the number of the point in the front. TilewrightError without pandas.
        """
        from tilewright.arch.frames import frame

        points = [
            {**{name: p.score.metric(name) for name in names}, "verified": p.score.verified}
            for names in [dict.fromkeys((*self.metrics, *METRICS, "edp"))]
            for p in self
        ]
        return frame(points)

    def _repr_html_(self) -> str:
        """Return the points as a table for a notebook."""
        from tilewright.arch.html_parts import html_table

        head, *rows = self.table(range(len(self)))
        return html_table([head, *rows], ">" * (len(head) - 1) + "<", repr(self)[1:-1])

    def table(self, numbers: Sequence[int]) -> list[tuple[str, ...]]:
        """Return some points as rows of text, a head first: number, metrics, landmark.

        Metrics have as many digits as it takes to tell the points of the front apart.
        """
        from tilewright.arch.quantities import label, told_apart

        words = self.landmarks()
        columns = [told_apart([p.score.metric(name) for p in self], name) for name in self.metrics]
        head = ("point", *map(label, self.metrics), "")
        rows = [
            (str(number), *(column[number] for column in columns), words.get(number, ""))
            for number in numbers
        ]
        return [head, *rows]
