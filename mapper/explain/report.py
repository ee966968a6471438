"""The size of a mapspace, and what each constraint takes away from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tilewright.arch.errors import TilewrightError
from tilewright.arch.tree import Arch
from tilewright.mapper.explain.constraint import Constraint
from tilewright.mapper.explain.subject import Subject
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload import Workload

COUNTING = 20_000_000  # steps of counting the points that fit, per size: less than a second
LARGEST = 3e7  # work of counting the points, per size: less than a second
_SLOTS = 20  # of a template, about
_TEMPLATES = 20_000  # slots of all templates


@dataclass(frozen=True, slots=True)
class Size:
    """`points`: (template, tile shapes) before the sizes of the memories are looked at; `fitting`:
    those that fit. None: too many to count exactly here."""

    templates: int | None
    points: int | None
    fitting: int | None


@dataclass(frozen=True, slots=True)
class Effect:
    """`without`: the mapspace under all other constraints. `after`: under this one and those that
    stand before it."""

    constraint: Constraint
    without: Size
    after: Size


@dataclass(frozen=True, slots=True)
class MapspaceReport:
    """The size of the mapspace of one Einsum on all Computes that may do it.

    `free`: under no constraint but the fanouts. `effects`: every constraint, in file order; a
    fanout or an exchange of tensors (`unfused`) is never lifted.
    """

    einsum: str
    size: Size
    free: Size
    effects: tuple[Effect, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON data."""
        return {
            "einsum": self.einsum,
            **asdict(self.size),
            "unconstrained": asdict(self.free),
            "constraints": [
                {
                    "kind": effect.constraint.kind,
                    "field": effect.constraint.path,
                    "tensor": effect.constraint.tensor,
                    "text": effect.constraint.text,
                    "where": str(effect.constraint.where or ""),
                    "without": asdict(effect.without),
                    "after": asdict(effect.after),
                }
                for effect in self.effects
            ],
        }

    def __str__(self) -> str:
        rows = [("constraint", "templates", "points", "that fit", "without it", "that fit")]
        rows.append(("no constraint", *_three(self.free), "", ""))
        for effect in self.effects:
            _, points, fitting = _three(effect.without)
            rows.append((_named(effect.constraint), *_three(effect.after), points, fitting))
        rows.append((f"mapspace of {self.einsum}", *_three(self.size), "", ""))
        return _table(rows)


def mapspace_report(
    arch: Arch, workload: Workload, einsum: str, conventions: str = "default",
    backed: frozenset[str] = frozenset(),
) -> MapspaceReport:  # fmt: skip
    """Count the mapspace of an Einsum with, after and without each constraint of the files.

    Sizes are exact or None. A constraint that pins a holder (tile_shape, no_resend_to_below) opens
    gaps which the canonical mapspace leaves out otherwise: without it there may be fewer points.
    """
    subject = Subject(arch, workload, workload.einsum(einsum), conventions, backed)
    constraints = subject.constraints_with_min_usage
    fixed = frozenset(c for c in constraints if c.kind in ("fanout", "unfused"))
    counted = [c for c in constraints if c not in fixed]
    everything = frozenset(constraints)
    effects, active = [], fixed
    for constraint in counted:
        active |= {constraint}
        without = _size(subject, everything - {constraint})
        effects.append(Effect(constraint, without, _size(subject, active)))
    return MapspaceReport(einsum, _size(subject, everything), _size(subject, fixed), tuple(effects))


def _size(subject: Subject, active: frozenset[Constraint]) -> Size:
    try:
        return size_of(subject.spaces(active, min_usage=True))
    except TilewrightError:  # too many choices of lanes, or numbers that hold for no Einsum here
        return Size(None, None, None)


def size_of(spaces: Sequence[Mapspace]) -> Size:
    """Return the size of some mapspaces together."""
    templates = sum(len(space.templates) for space in spaces)
    if max(templates, 1) * _SLOTS > _TEMPLATES or sum(map(_work, spaces)) > LARGEST:
        return Size(templates, None, None)
    points = sum(space.size.points for space in spaces)
    parts = [space.fitting(COUNTING) for space in spaces]
    known = [part for part in parts if part is not None]
    return Size(templates, points, sum(known) if len(known) == len(parts) else None)


def _work(space: Mapspace) -> float:
    """Estimate what counting the points takes: slots and lanes of all templates, per state."""
    states = 1.0
    for bound in space.einsum.bounds.values():
        states *= sum(1 for d in range(1, bound + 1) if bound % d == 0)
    if not space.templates:
        return 0.0
    lanes = sum(len(fan.choices) for fan in space.frame.fans(space.templates[0]))
    return states * len(space.templates) * (_SLOTS + lanes)


def _three(size: Size) -> tuple[str, str, str]:
    return _number(size.templates), _number(size.points), _number(size.fitting)


def _named(constraint: Constraint) -> str:
    where = constraint.where
    if where is None:
        return constraint.text
    return f"{constraint.text} ({Path(where.file).name}:{where.line}:{where.column})"


def _number(count: int | None) -> str:
    if count is None:
        return "?"
    return f"{count:,}" if count < 10**9 else f"{float(count):.3e}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
