"""The ways in which inputs of an Einsum may shift round rings of a grid (theory/grid.md §11)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.workload.einsum import Einsum, TensorAccess

AXES: tuple[Axis, Axis] = ("X", "Y")


@dataclass(frozen=True)
class RingQuestion:
    """What decides which inputs may shift.

    `shares`: of the elements. `variable`, `steps`: of the loop in time, which is summed over, and
    its tiles. `resident`: inputs that lie in the elements before the run; `staying`: tensors that
    other Einsums leave there.
    """

    einsum: Einsum
    shares: tuple[Share, ...]
    variable: str
    steps: int
    resident: frozenset[str]
    staying: frozenset[str]

    @cached_property
    def rings(self) -> tuple[Axis, ...]:
        """The axes with as many elements as the loop has tiles."""
        return tuple(
            axis
            for axis in AXES
            if self.steps > 1 and prod(s.count for s in self.shares if s.axis == axis) == self.steps
        )

    def uses(self, access: TensorAccess, axis: Axis) -> list[bool]:
        """Return for each share of an axis whether it is one of a rank of a tensor."""
        return [s.variable in access.rank_variables for s in self.shares if s.axis == axis]

    def axes_of(self, access: TensorAccess) -> list[Axis | None]:
        """Return the axes along which a tensor may shift, and None if it may stay whole."""
        axes: list[Axis | None] = []
        if access.tensor not in self.staying:
            axes += [axis for axis in self.rings if not any(self.uses(access, axis))]
            if access.tensor in self.resident and self._may_turn(access):
                axes.append(None)
        return axes

    def _may_turn(self, access: TensorAccess) -> bool:
        """Tell whether the tiles that an element holds can lie in memory in the order of its turns.

        They can if the loop's variable stands alone in one index of the tensor.
        """
        forms = [form.terms for _, form in access.projection if self.variable in dict(form.terms)]
        return forms == [((self.variable, 1),)]

    def enters_once(self, access: TensorAccess, axis: Axis, shifted: set[Axis | None]) -> bool:
        """Tell whether tiles that shift along an axis enter the grid once for all rings.

        `access`: the tensor; `shifted`: the axes along which any input shifts.
        """
        other: Axis = "Y" if axis == "X" else "X"
        if access.tensor in self.resident or other not in shifted:
            return True
        return all(self.uses(access, other))


def ring_options(question: RingQuestion) -> Iterator[tuple[tuple[str, Axis], ...]]:
    """Yield each way in which inputs shift: their names, each with the axis of its rings."""
    inputs = [a for a in question.einsum.inputs if question.variable in a.rank_variables]
    if not question.rings:
        return
    for axes in product(*(question.axes_of(access) for access in inputs)):
        shifted = set(axes) - {None}
        if not shifted:
            continue
        ways = [(access, axis) for access, axis in zip(inputs, axes, strict=True) if axis]
        if all(question.enters_once(access, axis, shifted) for access, axis in ways):
            yield tuple((access.tensor, axis) for access, axis in ways)
