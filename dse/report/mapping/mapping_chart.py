"""Scatter chart of a front over two metrics: pixels of its points, ticks and words of its axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.arch.quantities import label, quantity

WIDTH, HEIGHT = 1080, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 24, 18, 52
_WIDE = 20.0
"""An axis whose values span more than this factor is logarithmic."""


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """One axis of a chart of two metrics, with the way from values to pixels.

    `metric`: its name; `low`, `high`: ends of the axis in the metric's unit, or their base-10
    logarithms if `logarithmic`; `start`: pixel of the low end; `length`: pixels from there to the
    high end, negative upward.
    """

    metric: str
    low: float
    high: float
    logarithmic: bool
    start: float
    length: float

    @property
    def title(self) -> str:
        """The name of the metric, and whether the axis is logarithmic."""
        return label(self.metric) + (" (logarithmic)" if self.logarithmic else "")

    def at(self, value: float) -> float:
        """Return the pixel, along this axis, at which a value of the metric stands."""
        position = math.log10(value) if self.logarithmic else value
        return round(self.start + self.length * (position - self.low) / (self.high - self.low), 2)

    def ticks(self) -> list[tuple[float, str]]:
        """Return about six ticks of the axis, each as (pixel, text)."""
        if self.logarithmic:
            exponents = range(math.ceil(self.low), math.floor(self.high) + 1)
            positions = [
                m * 10.0**e for e in exponents for m in ((1, 2, 5) if len(exponents) < 3 else (1,))
            ]
            values = [v for v in positions if self.low <= math.log10(v) <= self.high]
        else:
            step = (_binary if self.metric.startswith("usage.") else _step)(
                (self.high - self.low) / 6
            )
            first = math.ceil(self.low / step)
            values = [step * n for n in range(first, math.floor(self.high / step) + 1)]
        return [(self.at(value), self.shown(value)) for value in values]

    def shown(self, value: float) -> str:
        """Return a value of the metric as text with its unit."""
        return quantity(value, self.metric)


@dataclass(frozen=True, slots=True)
class Chart:
    """A scatter chart of a Pareto front over two metrics.

    `points`: (x pixel, y pixel, text) in the order of the front; `third`: the metric that colours
    show, None for none; `shades`: of it, 0 for the least value and 1 for the greatest.
    """

    x: ChartAxis
    y: ChartAxis
    points: tuple[tuple[float, float, str], ...]
    third: str | None = None
    shades: tuple[float, ...] = ()

    @property
    def line(self) -> str:
        """The points as `x,y` pairs of an SVG polyline, from left to right."""
        return " ".join(f"{x},{y}" for x, y, _ in sorted(self.points))


def front_chart(
    points: Sequence[tuple[float, float]],
    x_metric: str,
    y_metric: str,
    third: tuple[str, Sequence[float]] | None = None,
) -> Chart:
    """Return the scatter chart of a Pareto front over two metrics.

    `points`: (x, y) values of the metrics `x_metric` and `y_metric`, in SI units. `third`: a metric
    for the colours, and the share of each point between its least and its greatest value.
    """
    x = _axis(x_metric, [p[0] for p in points], _LEFT, WIDTH - _LEFT - _RIGHT)
    y = _axis(y_metric, [p[1] for p in points], HEIGHT - _BOTTOM, -(HEIGHT - _TOP - _BOTTOM))
    x_name, y_name = label(x_metric), label(y_metric)
    pixels = tuple(
        (x.at(a), y.at(b), f"{x_name} {x.shown(a)}, {y_name} {y.shown(b)}") for a, b in points
    )
    if third is None:
        return Chart(x, y, pixels)
    return Chart(x, y, pixels, label(third[0]), tuple(third[1]))


def _axis(metric: str, values: Sequence[float], start: float, length: float) -> ChartAxis:
    """Return an axis that has a margin of 6 % on both sides of the values."""
    smallest, largest = min(values), max(values)
    logarithmic = smallest > 0 and largest / smallest > _WIDE
    low, high = smallest, largest
    if logarithmic:
        low, high = math.log10(smallest), math.log10(largest)
    margin = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    return ChartAxis(metric, low - margin, high + margin, logarithmic, start, length)


def _step(smallest_step: float) -> float:
    """Return the smallest of 1, 2, 5 × 10ⁿ that is at least `smallest_step`."""
    power = 10.0 ** math.floor(math.log10(smallest_step))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= smallest_step * (1 - 1e-9))


def _binary(smallest_step: float) -> float:
    """Return the smallest power of two that is at least `smallest_step`, for ticks in bytes."""
    return float(2.0 ** math.ceil(math.log2(smallest_step)))
