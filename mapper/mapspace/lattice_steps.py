"""Steps from tile to tile in the lattice of tile shapes, as the loops of a slot allow them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.templates.slots import Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops


def completions_above(lattice: Lattice, slot: Slot, completions: Any) -> Any:
    """Return, for each tile above a slot, the number of ways to finish a point there.

    `completions`: the same numbers below the slot, shape (states,); so is the result. A tile's
    number is the sum over all tiles that the slot's loops can leave of it. A slot is a place of a
    template (a mapping without loops) for loops, a fill or a reserved tile; a point is one choice
    of all tile sizes of a template.
    """
    if isinstance(slot, SpatialLoops):
        total = np.zeros(lattice.shape, completions.dtype)
        for shift in lattice.shifts(slot.variables, slot.choices):
            upper_states, lower_states = lattice.meeting(shift)
            total[upper_states] += completions.reshape(lattice.shape)[lower_states]
        return total.reshape(-1)
    if not isinstance(slot, TemporalLoops):
        return completions
    groups = [(v,) for v in slot.variables] if slot.single else [slot.variables]
    sums = [_summed_below(lattice, group, completions) for group in groups]
    return sum(sums) - (len(sums) - 1) * completions  # no loop at all is in each sum


def chains_below(lattice: Lattice, slot: Slot, chains: Any) -> Any:
    """Return, for each tile below a slot, the number of chains of tiles that end there.

    `chains`: the same numbers above the slot, shape (states,); so is the result. In the lattice
    turned upside down, where divisors are multiples, these are completions. A slot is a place of a
    template (a mapping without loops) for loops, a fill or a reserved tile.
    """
    return completions_above(lattice, slot, chains[::-1])[::-1]


def _summed_below(lattice: Lattice, variables: Sequence[str], completions: Any) -> Any:
    """Return, per state, the sum of `completions` over the tiles dividing it in some variables."""
    shaped = completions.reshape([axis.radix for axis in lattice.axes] or [1])
    for number, axis in enumerate(lattice.axes):
        if lattice.variables[axis.variable] in variables:
            shaped = np.cumsum(shaped, axis=number)
    return shaped.reshape(-1)


def states_below(lattice: Lattice, slot: Slot, state: int) -> list[int]:
    """Return the indices of the tiles that a slot's loops can leave of a tile, ascending.

    `state`: index of the tile above in `lattice`. Of spatial loops, one per choice of lanes that
    divides the tile; a slot without loops leaves the tile as it is. A slot is a place of a
    template (a mapping without loops) for loops, a fill or a reserved tile; a lane is one instance
    along a dimension of a fanout.
    """
    if isinstance(slot, SpatialLoops):
        shifts = lattice.shifts(slot.variables, slot.choices)
        possible = shifts[(shifts <= lattice.digits[state]).all(axis=1)]
        return [state - lattice.offset(shift) for shift in possible]
    if not isinstance(slot, TemporalLoops):
        return [state]
    groups = [(v,) for v in slot.variables] if slot.single else [slot.variables]
    states = [state]
    for group in groups:
        reached = [state]
        for axis in lattice.axes_of(group):
            steps = range(int(lattice.digits[state, lattice.axes.index(axis)]) + 1)
            reached = [s - step * axis.stride for s in reached for step in steps]
        states += reached
    return sorted(set(states))
