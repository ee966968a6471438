"""Report the size of a mapspace with and without each constraint of the architecture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.explain.constraint import MappingConstraint
from tilewright.mapper.explain.subject import ConstrainedEinsum
from tilewright.mapper.mapspace.counting.mapspace_size import (
    LARGEST,
    LARGEST_OF_ONE,
    CountedSizes,
    MapspaceSizes,
)
from tilewright.mapper.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class ConstraintEffect:
    """Say what one constraint does to the size of a mapspace.

    `without`: size under all constraints but this one. `after`: size under this one and those
    before it in the file. Sizes count templates (mappings without loops), points (mappings), and
    points that fit all memories.
    """

    constraint: MappingConstraint
    without: CountedSizes
    after: CountedSizes


@dataclass(frozen=True, slots=True)
class MapspaceReport:
    """Size of the mapspace of one Einsum, with and without each constraint.

    `einsum`: its name. `size`: under all constraints, summed over the computes that may perform the
    Einsum. `free`: under none but the fanouts and, for Einsums mapped one by one, the exchange
    through the outermost memory. `effects`: of every other constraint, in file order. str() gives a
    table.
    """

    einsum: str
    size: CountedSizes
    free: CountedSizes
    effects: tuple[ConstraintEffect, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the report as a dictionary that can be written as JSON.

        It has the sizes with all constraints and with none, and per constraint its field, text and
        place in the file, and the sizes without and after it.
        """
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
    """Count the mappings of an Einsum with, after and without each constraint of its architecture.

    `einsum`: its name. `conventions`: name of the counting rules. `backed`: tensors that the
    outermost memory must keep. A size is exact, or None with the number counted until it took too
    long. Removing a constraint can leave fewer points: a rule such as tile_shape or
    no_resend_to_below demands places for loops that otherwise only repeat mappings. Raises
    TilewrightError for an Einsum that does not exist, or an architecture that cannot be evaluated
    for it.
    """
    subject = ConstrainedEinsum(arch, workload, workload.einsum(einsum), conventions, backed)
    constraints = subject.constraints_with_min_usage
    fixed = frozenset(c for c in constraints if c.kind in ("fanout", "unfused"))
    counted = [c for c in constraints if c not in fixed]
    everything = frozenset(constraints)
    effects, active, sizes = [], fixed, MapspaceSizes()
    total = _size(sizes, subject, everything, LARGEST_OF_ONE)
    for constraint in counted:
        active |= {constraint}
        without = _size(sizes, subject, everything - {constraint})
        effects.append(ConstraintEffect(constraint, without, _size(sizes, subject, active)))
    return MapspaceReport(einsum, total, _size(sizes, subject, fixed), tuple(effects))


def _size(
    sizes: MapspaceSizes,
    subject: ConstrainedEinsum,
    active: frozenset[MappingConstraint],
    work: float = LARGEST,
) -> CountedSizes:
    try:
        return sizes.of(subject.spaces(active, min_usage=True), work)
    except TilewrightError:  # too many choices of lanes, or numbers that hold for no Einsum here
        return CountedSizes(None, None, None)


def _three(size: CountedSizes) -> tuple[str, str, str]:
    counts = (size.templates, size.points, size.fitting)
    told = [_told(*each) for each in zip(counts, size.at_least, size.at_most, strict=True)]
    return told[0], told[1], told[2]


def _named(constraint: MappingConstraint) -> str:
    place = constraint.where
    if place is None:
        return constraint.text
    return f"{constraint.text} ({Path(place.file).name}:{place.line}:{place.column})"


def _told(count: int | None, at_least: int, at_most: int | None) -> str:
    """Return a number as text, or what is known of it: its upper bound, else its lower one."""
    if count is not None:
        return _number(count)
    if at_most is not None:
        return f"<= {_number(at_most)}"
    return f">= {_number(at_least)}" if at_least else "?"


def _number(count: int) -> str:
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
