"""A stencil with one cell per element gives what numpy gives, with and without a loop."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.examples.cell_stencil import cell_stencil
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine


def expected(cells, weights, iterations: int):
    """Return the cells after some iterations, with one rounding per multiply-add."""
    cells = cells.copy()
    for _ in range(iterations):
        total = weights[0] * cells[1:-1, 1:-1]
        around = cells[1:-1, 2:], cells[1:-1, :-2], cells[:-2, 1:-1], cells[2:, 1:-1]
        for neighbour in around:
            fused = total.astype(np.float64) + neighbour.astype(np.float64) * weights[1]
            total = fused.astype(np.float32)
        cells[1:-1, 1:-1] = total
    return cells


@pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim"])
@pytest.mark.parametrize("size", [(3, 3), (4, 6)])
@pytest.mark.parametrize("unrolled", [False, True])
def test_as_numpy(size: tuple[int, int], profile: str, unrolled: bool) -> None:
    cells = np.random.default_rng(1).random(size, dtype=np.float32)
    weights = np.array([0.5, 0.125], dtype=np.float32)
    memory = {"cell": cells[..., None], "weights": np.tile(weights, (*size, 1))}
    machine = Machine(cell_stencil(*size, 5, unrolled=unrolled), load_profile(profile))
    result = machine.run(memory=memory, shuffle=2)
    assert (result.memory["cell"][..., 0] == expected(cells, weights, 5)).all()


def test_small_grids_are_refused() -> None:
    for size, iterations in (((2, 5), 1), ((3, 3), 0)):
        with pytest.raises(ProgramError, match="3 x 3 elements or more"):
            cell_stencil(*size, iterations)
