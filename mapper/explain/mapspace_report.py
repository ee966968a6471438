"""The size of a mapspace, with and without each constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.explain.constraint import MappingConstraint
from tilewright.mapper.explain.subject import ConstrainedEinsum
from tilewright.mapper.mapspace.counting.mapspace_size import CountedSizes, MapspaceSizes
from tilewright.mapper.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class ConstraintEffect:
    """The effect of one constraint on the size.

    `without`: the size under all other constraints; `after`: under this one and those before it.
    """

    constraint: MappingConstraint
    without: CountedSizes
    after: CountedSizes


@dataclass(frozen=True, slots=True)
class MapspaceReport:
    """The size of the mapspace of one Einsum on all Computes that may do it.

    `free`: under no constraint but the fanouts. `effects`: every constraint, in file order; a
    fanout or an exchange of tensors (`unfused`) is never lifted.
    """

    einsum: str
    size: CountedSizes
    free: CountedSizes
    effects: tuple[ConstraintEffect, ...]

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

    Sizes are exact or None, with the number counted so far. A constraint that pins a holder
    (tile_shape, no_resend_to_below) opens gaps which the canonical mapspace leaves out otherwise:
    without it there may be fewer points.
    """
    subject = ConstrainedEinsum(arch, workload, workload.einsum(einsum), conventions, backed)
    constraints = subject.constraints_with_min_usage
    fixed = frozenset(c for c in constraints if c.kind in ("fanout", "unfused"))
    counted = [c for c in constraints if c not in fixed]
    everything = frozenset(constraints)
    effects, active, sizes = [], fixed, MapspaceSizes()
    for constraint in counted:
        active |= {constraint}
        without = _size(sizes, subject, everything - {constraint})
        effects.append(ConstraintEffect(constraint, without, _size(sizes, subject, active)))
    total, free = (
        _size(sizes, subject, constraints_kept) for constraints_kept in (everything, fixed)
    )
    return MapspaceReport(einsum, total, free, tuple(effects))


def _size(
    sizes: MapspaceSizes, subject: ConstrainedEinsum, active: frozenset[MappingConstraint]
) -> CountedSizes:
    try:
        return sizes.of(subject.spaces(active, min_usage=True))
    except TilewrightError:  # too many choices of lanes, or numbers that hold for no Einsum here
        return CountedSizes(None, None, None)


def _three(size: CountedSizes) -> tuple[str, str, str]:
    counts = (size.templates, size.points, size.fitting)
    told = [_number(*pair) for pair in zip(counts, size.at_least, strict=True)]
    return told[0], told[1], told[2]


def _named(constraint: MappingConstraint) -> str:
    place = constraint.where
    if place is None:
        return constraint.text
    return f"{constraint.text} ({Path(place.file).name}:{place.line}:{place.column})"


def _number(count: int | None, at_least: int) -> str:
    if count is None:
        return f">= {_number(at_least, 0)}" if at_least else "?"
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
