"""A point of a mapspace from the choices of a sampler, each choice legal whatever it proposes.

Every parameter is a share between 0 and 1 of the choices that are left at its place, in ascending
order of the tile, so that near values mean like mappings. Nothing here knows the sampler: a trial
of Optuna has these methods, and so has anything else that can propose numbers.
"""

from __future__ import annotations

from typing import Protocol

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.points import Points


class Suggests(Protocol):
    """Something that proposes numbers by name, such as a trial of Optuna."""

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """Propose a whole number from `low` to `high`, both included; `name` identifies it."""
        ...

    def suggest_float(self, name: str, low: float, high: float) -> float:
        """Propose a number from `low` to `high`; `name` identifies it."""
        ...


def suggested_tiles(points: Points, trial: Suggests, name: str) -> tuple[Tile, ...]:
    """Ask `trial` for the tile below each slot of a template and return these tiles.

    For each slot and rank variable with a choice, a share between 0 and 1, called
    `name.slot.variable`, picks among the legal extents in ascending order. `points` must not be
    empty. Capacity is not looked at. A template is a mapping without its loops.
    """
    names = tuple(points.problem.einsum.bounds)
    state, tiles = points.start(), []
    for index in range(len(points.slots)):
        options = [(points.tile_of(option), option) for option in points.options(index, state)]
        for column, variable in enumerate(names):
            extents = sorted({tile[column] for tile, _ in options})
            if len(extents) > 1:
                share = trial.suggest_float(f"{name}.{index}.{variable}", 0.0, 1.0)
                extent = extents[min(int(share * len(extents)), len(extents) - 1)]
                options = [option for option in options if option[0][column] == extent]
        tile, state = min(options)
        tiles.append(tile)
    return tuple(tiles)
