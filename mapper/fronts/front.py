"""The mappings of a Pareto front, as what a search returns."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.mapper.searches.result import ScoredMapping

METRICS = ("energy", "latency")


class Front(tuple["ScoredMapping", ...]):
    """The mappings that no other one beats, as a tuple of scored mappings.

    `metrics`: those that the front is over; energy and latency if none was asked for.
    """

    metrics: tuple[str, ...]

    def __new__(
        cls, points: Iterable[ScoredMapping] = (), metrics: tuple[str, ...] = METRICS
    ) -> Front:
        """Return the front of some points."""
        front = super().__new__(cls, points)
        front.metrics = metrics
        return front

    def __reduce__(self) -> tuple[Any, ...]:
        return Front, (tuple(self), self.metrics)

    def __repr__(self) -> str:
        count = f"{len(self)} mapping{'' if len(self) == 1 else 's'}"
        return f"<Front of {count} over {', '.join(self.metrics)}>"

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the metrics of each point as plain data (SI units, bits), with its mapping file.

        Infinite numbers become None.
        """
        from tilewright.mapper.mapping.mapping_file import dump_mapping

        return [
            {
                **{name: _finite(point.score.metric(name)) for name in self.metrics},
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
        from tilewright.arch.quantities import label

        head = ("", *map(label, self.metrics))
        rows = [
            (str(number), *(shown(point.score.metric(name), name) for name in self.metrics))
            for number, point in enumerate(self)
        ]
        return html_table([head, *rows], ">" * len(head), repr(self)[1:-1])


def shown(value: float, metric: str) -> str:
    """Return a metric of a front with its unit: bytes for usage, else with an SI prefix."""
    from tilewright.arch.quantities import quantity, with_unit

    return with_unit(value, "bit") if metric.startswith("usage.") else quantity(value, metric)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
