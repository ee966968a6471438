"""Start values of buffers: of the whole grid, or of the area of the elements that have them."""

import numpy as np
import pytest

from tilewright.simulator.isa.machine_errors import InputDataError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

PROGRAM = """program doubled 3 x 4
code worker
  buffer v i16 [2]
  mem1d all v extent 2
  task main entry
    @add16 all, all, all
code idle
  buffer w i16 [1]
place idle [0:1, 0:4]
place idle [1:3, 0:1]
place worker [1:2, 1:3]
place idle [1:2, 3:4]
place idle [2:3, 1:3]
place worker [2:3, 3:4]
"""


def test_values_may_be_given_for_the_area_of_the_elements_that_have_a_buffer() -> None:
    """Elements of the area without the buffer ignore their values."""
    machine = Machine(parse_program(PROGRAM), load_profile("wse2-sdk-sim"))
    area = np.arange(12).reshape(2, 3, 2)
    whole = np.zeros((3, 4, 2), dtype=int)
    whole[1:3, 1:4] = area
    results = [machine.run(memory={"v": given}).memory["v"] for given in (area, whole)]
    assert np.array_equal(results[0], results[1])
    expected = np.zeros((3, 4, 2), dtype=int)
    for row, column in ((1, 1), (1, 2), (2, 3)):
        expected[row, column] = 2 * whole[row, column]
    assert np.array_equal(results[0], expected)
    with pytest.raises(InputDataError, match="wrong shape") as refused:
        machine.run(memory={"v": area[:1]})
    assert refused.value.instead == "(3, 4, 2) or (2, 3, 2)"
