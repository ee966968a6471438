"""A stencil with one cell per element gives what numpy gives, word by word and by pairs."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.examples.cell_stencil import cell_stencil
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine


def expected(cells, weights, iterations: int, *, pairs: bool):
    """Return the cells after some iterations, in single precision, in the order of the program."""
    cells = cells.copy()
    for _ in range(iterations):
        total = weights[0] * cells[1:-1, 1:-1]
        sent = weights[1] * cells
        east, west, north, south = sent[1:-1, 2:], sent[1:-1, :-2], sent[:-2, 1:-1], sent[2:, 1:-1]
        came = (east + west, north + south) if pairs else (east, west, north, south)
        for words in came:
            total = total + words
        cells[1:-1, 1:-1] = total
    return cells


@pytest.mark.parametrize(("profile", "pairs"), [("wse2-sdk-sim", True), ("wse3-sdk-sim", False)])
@pytest.mark.parametrize("size", [(3, 3), (4, 6)])
def test_as_numpy(size: tuple[int, int], profile: str, pairs: bool) -> None:
    cells = np.random.default_rng(1).random(size, dtype=np.float32)
    weights = np.array([0.5, 0.125], dtype=np.float32)
    memory = {"cell": cells[..., None], "weights": np.tile(weights, (*size, 1))}
    machine = Machine(cell_stencil(*size, 5, pairs=pairs), load_profile(profile))
    result = machine.run(memory=memory, shuffle=2)
    assert (result.memory["cell"][..., 0] == expected(cells, weights, 5, pairs=pairs)).all()


def test_small_grids_are_refused() -> None:
    for size, iterations in (((2, 5), 1), ((3, 3), 0)):
        with pytest.raises(ProgramError, match="3 x 3 elements or more"):
            cell_stencil(*size, iterations, pairs=False)
