"""The star stencil computes what numpy computes, for any radius, tile, grid and profile."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from explore import at_night

from tilewright.simulator.examples.star_stencil import Tile, star_stencil
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

Cells = npt.NDArray[np.float64]


def expected(cells: Cells, weights: Cells, iterations: int, border: tuple[int, int]) -> Cells:
    """Iterate on the whole grid; cells within `border` (rows, columns) keep their values."""
    radius = len(weights) - 1
    rows, columns = (slice(side, -side) for side in border)
    for _ in range(iterations):
        total = weights[0] * cells
        for d in range(1, radius + 1):
            for axis in (0, 1):
                total += weights[d] * (np.roll(cells, d, axis) + np.roll(cells, -d, axis))
        cells = cells.copy()
        cells[rows, columns] = total[rows, columns]
    return cells


@pytest.mark.parametrize("profile", ["wse2-sdk-sim", *at_night("wse3-sdk-sim")])
@pytest.mark.parametrize(
    ("elements", "tile", "waits"),
    [
        ((3, 3), Tile(4, 5, 1), True),
        ((4, 3), Tile(5, 4, 1), False),
        ((3, 5), Tile(1, 1, 1), True),
        ((3, 4), Tile(3, 2, 2), True),
        ((4, 4), Tile(6, 7, 6), True),
    ],
)
def test_cells_are_those_of_numpy(
    profile: str, elements: tuple[int, int], tile: Tile, waits: bool
) -> None:
    iterations, random = 3, np.random.default_rng(1)
    height, width, radius = tile
    rows, columns = elements
    weights = random.uniform(0.1, 0.3, radius + 1)
    cells = random.uniform(-1, 1, (rows * height, columns * width))
    grid = np.zeros((*elements, *tile.shape))
    tiles = cells.reshape(rows, height, columns, width).swapaxes(1, 2)
    grid[:, :, radius : radius + height, radius : radius + width] = tiles
    memory = {"grid": grid, "weights": np.broadcast_to(weights, (*elements, radius + 1))}
    program = star_stencil(elements, tile, iterations, waits=waits)
    result = Machine(program, load_profile(profile)).run(memory=memory)
    found = result.memory["grid"][:, :, radius : radius + height, radius : radius + width]
    found = found.swapaxes(1, 2).reshape(cells.shape)
    np.testing.assert_allclose(
        found, expected(cells, weights, iterations, (height, width)), rtol=1e-4, atol=1e-5
    )


def test_other_sizes_are_refused() -> None:
    for elements, tile in (
        ((2, 3), Tile(4, 4, 1)),
        ((3, 3), Tile(2, 4, 3)),
        ((3, 3), Tile(2, 2, 0)),
    ):
        with pytest.raises(ProgramError, match="3 x 3 elements or more"):
            star_stencil(elements, tile, 1)
    with pytest.raises(ProgramError, match="waiting"):
        star_stencil((3, 3), Tile(4, 4, 2), 1, waits=False)
