"""Constraints on the mapspace of a grid: what a study or a user asks of every mapping."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass, fields

from tilewright.mapper.grid.schemes.reduction_scheme import no_scheme, reduction_scheme
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping

FREE = "free"
WEIGHTS = ("resident", "streamed")
MOVEMENTS = ("broadcast", "shift")


@dataclass(frozen=True, slots=True)
class GridConstraints:
    """Hold what every mapping of a mapspace has in common; `free` leaves a choice to the search.

    `x`, `y`: rank variables whose values are shared over the columns and over the rows, joined by
    `+` if there are several ("m+k"); "none": the axis has one working element. `reduction`: how
    partial sums are added over elements. `tile`: rank variable of the loop in time above the tiles
    that pass; "none": whole shares. `buffers`: 1, or 2 to overlap transfers with work. `weights`:
    persistent inputs are resident, or streamed from outside. `movement`: tiles of inputs are
    broadcast to the elements that need them, or shift round rings of elements.
    """

    x: str = FREE
    y: str = FREE
    reduction: str = FREE
    tile: str = FREE
    buffers: int | str = FREE
    weights: str = FREE
    movement: str = FREE

    @classmethod
    def of(cls, choices: Dict[str, str | int]) -> GridConstraints:
        """Build constraints from names and values, as a study file gives them.

        Raises InfeasibleMapping for an unknown name or a value that no mapping can have. Rank
        variables are checked by `check`.
        """
        names = [entry.name for entry in fields(cls)]
        for name in choices:
            if name not in names:
                raise InfeasibleMapping(
                    f"unknown constraint on a grid's mapping {name!r}",
                    instead=f"one of {', '.join(names)}",
                )
        wanted = cls(**choices)  # type: ignore[arg-type]
        if wanted.reduction != FREE and reduction_scheme(wanted.reduction).shared:
            raise no_scheme(wanted.reduction)
        _allowed("buffers", wanted.buffers, (FREE, 1, 2))
        _allowed("weights", wanted.weights, (FREE, *WEIGHTS))
        _allowed("movement", wanted.movement, (FREE, *MOVEMENTS))
        return wanted

    def check(self, einsum: Einsum) -> None:
        """Check that the rank variables are those of an Einsum; raises InfeasibleMapping."""
        for field_name in ("x", "y", "tile"):
            value = getattr(self, field_name)
            if value in (FREE, "none"):
                continue
            for name in str(value).split("+"):
                _allowed(field_name, name, (FREE, "none", *einsum.bounds))

    def allows_shares(self, axis: str, names: frozenset[str]) -> bool:
        """Return whether just these rank variables may be divided along an axis of elements."""
        wanted = self.x if axis == "X" else self.y
        if wanted == FREE:
            return True
        return names == (frozenset() if wanted == "none" else frozenset(wanted.split("+")))

    def allows(self, field_name: str, value: str | int) -> bool:
        """Tell whether a field is free or has this value.

        `field_name`: one of the fields of the class.
        """
        return getattr(self, field_name) in (FREE, value)


NO_CONSTRAINTS = GridConstraints()


def _allowed(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        options = ", ".join(str(option) for option in allowed)
        raise InfeasibleMapping(f"{name} cannot be {value!r}", instead=f"one of {options}")
