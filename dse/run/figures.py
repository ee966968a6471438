"""Expressions over metrics: objectives, limits and queries, evaluated without Python's eval.

Names are the metrics of a design (`energy`, `usage.Buffer`, `bert.energy` of one workload), and
`base`, the metrics of the reference design: `area <= 1.2 * base.area`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.expressions.expressions import compile_expression
from tilewright.arch.expressions.units import unit_of
from tilewright.arch.names import did_you_mean
from tilewright.arch.quantities import unit_of_metric

Sign = Literal["<=", ">="]
BASE = "base"
_COMPARISON = re.compile(r"<=|>=|==|!=|<|>")
_KINDS = {"J": "energy", "s": "time", "m²": "area", "W": "power", "bit": "bits"}
_POWER = re.compile(r"(?:(?<![\w.])[A-Za-z_][\w.]*|\))\s*\*\*\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)")
_MOST_POWER = 16
_PIECEWISE = re.compile(r"\w\s*\(|//|%|\b(?:if|and|or|not|for)\b")  # calls and conditions
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_SAME = 1e-12  # relative
_PLAIN = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


@dataclass(frozen=True, slots=True)
class Constraint:
    """A limit of a study: `left` is at most (`<=`) or at least (`>=`) `right`, by its `sign`.

    Both sides are expressions over metrics, in SI units. A design beyond a limit gets the status
    violates and is no answer.
    """

    left: str
    sign: Sign
    right: str

    @property
    def text(self) -> str:
        """The limit as text, such as `area <= 0.0006`."""
        return f"{self.left} {self.sign} {self.right}"

    def excess(self, names: Mapping[str, object]) -> float:
        """Return by how much the limit is exceeded, in the unit of its sides; 0 or less: it holds.

        `names`: as of `names_of`. Raises SpecError if a side has no finite value.
        """
        left, right = value_of(self.left, names), value_of(self.right, names)
        return left - right if self.sign == "<=" else right - left


def parse_constraint(text: str, where: Where | None = None) -> Constraint:
    """Return the limit that a text like `area <= 1.2 * base.area` states.

    Raises SpecError, at `where`, for a text that is not one comparison by <= or >=.
    """
    signs = _COMPARISON.findall(text)
    if len(signs) != 1 or signs[0] not in ("<=", ">="):
        raise SpecError(
            "a limit compares two sides by <= or >=",
            where=where,
            value=text,
            instead="for example area <= 1.2 * base.area, or energy * latency <= 1e-9",
        )
    left, right = (side.strip() for side in text.split(signs[0]))
    for metric, limit in ((left, right), (right, left)):
        check_unit(metric, limit, where)
    return Constraint(left, signs[0], right)


def check_unit(metric: str, limit: str, where: Where | None) -> None:
    """Check that a limit written with a unit is of the kind of its metric: no joules for seconds.

    Raises SpecError, at `where`.
    """
    unit = unit_of(limit) if is_plain_name(metric) else None
    kind = _KINDS.get(unit_of_metric(metric))
    if unit is None or kind is None or unit.dimension == kind:
        return
    raise SpecError(
        f"{metric} is not measured in {unit.name}",
        where=where,
        value=limit,
        instead=f"a unit of {kind}",
    )


def check_names(text: str, names: Iterable[str], where: Where | None = None) -> frozenset[str]:
    """Check an expression over metrics; return the names that it takes.

    `names`: names before the first dot. Raises SpecError, at `where`, for wrong syntax or an
    unknown name.
    """
    free = compile_expression(text, where).free
    known_names = sorted(names)
    for name in sorted(free):
        if name == BASE and name not in known_names:
            raise SpecError(
                f"{BASE} has the metrics of the first baseline, and the study has none",
                where=where,
                value=text,
                instead="baselines: [{name: today, values: {KNOB: VALUE, …}}] in the study, or a"
                " number",
            )
        if name not in known_names:
            raise SpecError(
                f"there is no metric {name}",
                where=where,
                value=text,
                instead=did_you_mean(name, known_names) or f"one of {', '.join(known_names)}",
            )
    return free


def check_figure(text: str, names: Iterable[str], where: Where | None = None) -> None:
    """Check an objective, or both sides of a limit: it is of a metric, with exponents in reason.

    Raises SpecError, at `where`, for those, and as `check_names`.
    """
    for power in _POWER.findall(text):
        if float(power) > _MOST_POWER:
            raise SpecError(
                f"an exponent is at most {_MOST_POWER}: above, figures become 0 or infinite",
                where=where,
                value=text,
            )
    sides = _COMPARISON.split(text)
    used = frozenset(name for side in sides for name in check_names(side.strip(), names, where))
    if not used or _is_constant(sides, used):
        raise SpecError(
            f"this {'is of no metric' if not used else 'cancels out'}: it is the same for every"
            " design",
            where=where,
            value=text,
            instead=f"an expression over {', '.join(sorted(names))}",
        )


def _is_constant(sides: list[str], used: frozenset[str]) -> bool:
    """Return whether a figure, or the difference of a limit's sides, is the same for any metrics.

    Plain arithmetic alone is looked at: what is the same at a few far points is so everywhere then.
    `used`: names before the first dot.
    """
    if any(_PIECEWISE.search(side) for side in sides):
        return False
    names = {name for side in sides for name in _DOTTED.findall(side)}
    given = sorted(name for name in names if name.partition(".")[0] in used)
    try:
        figures = [_figure_at(sides, given, point) for point in range(len(_SCALES))]
    except SpecError:
        return False
    return max(figures) - min(figures) <= _SAME * max(map(abs, figures))


_SCALES = (1e-9, 1e-3, 1.0, 1e3, 1e9)


def _figure_at(sides: list[str], names: list[str], point: int) -> float:
    """Return a figure, or the difference of a limit's sides, where metrics have some values.

    `names`: of the metrics; `point`: number of the values. Raises SpecError where it has none.
    """
    scale = _SCALES[point]
    metrics = {name: scale * (2 + point + place) ** 0.5 for place, name in enumerate(names)}
    values = [value_of(side, nested(metrics)) for side in sides]
    return values[0] - values[-1] if len(values) > 1 else values[0]


def uses_base(text: str) -> bool:
    """Return whether an expression over metrics takes those of the reference design."""
    return BASE in compile_expression(text).free


def names_of(
    metrics: Mapping[str, float], base: Mapping[str, float] | None = None
) -> dict[str, object]:
    """Return the names that an expression over metrics may use, with their values.

    `metrics`: of the design; `base`: of the reference design. `usage.Buffer` becomes a mapping
    `usage` with the key Buffer.
    """
    names = nested(metrics)
    if base is not None:
        names[BASE] = nested(base)
    return names


def nested(values: Mapping[str, object]) -> dict[str, object]:
    """Return values by dotted name as mappings in mappings; names that are expressions stay out."""
    tree: dict[str, object] = {}
    for name, value in values.items():
        if not is_plain_name(name):
            continue
        *above, last = name.split(".")
        inner = tree
        for step in above:
            below = inner.setdefault(step, {})
            if not isinstance(below, dict):
                break
            inner = below
        else:
            inner.setdefault(last, value)
    return tree


def is_plain_name(text: str) -> bool:
    """Return whether a text is the name of a metric, not an expression over some."""
    return _PLAIN.fullmatch(text) is not None


def value_of(text: str, names: Mapping[str, object]) -> float:
    """Return the value of an expression over metrics.

    Raises SpecError if it fails or is no finite number.
    """
    value = compile_expression(text)(names)
    try:
        number = float(value)  # type: ignore[arg-type]  # any other type raises here
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise SpecError(f"`{text}` is no finite number", value=value)
    return number
