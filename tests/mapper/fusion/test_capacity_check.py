"""What lives at a time in a buffer decides which pmappings are joined."""

from __future__ import annotations

import numpy as np
import pytest
from fused_example import WORKLOAD, machine
from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.fusion.join.capacity_check import suffix_maximum
from tilewright.mapper.searches.api import search


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=4))
def test_what_is_behind_is_the_greatest_from_there_on(peaks: list[list[int]]) -> None:
    wanted = [[max(row[i:]) for i in range(3)] for row in peaks]
    assert suffix_maximum(np.array(peaks, np.float64)).tolist() == wanted


@pytest.mark.parametrize(("bits", "energy"), [(12, 2568), (8, 3376), (7, 3376)])
def test_seven_bits_hold_what_lives_below_a_shared_loop(bits: int, energy: float) -> None:
    """theory/fusion.md: while Y or Z runs, at most 4 + 2 + 1 bits live below the loop over m."""
    result = search(machine(bits), WORKLOAD)
    assert result.certificate.value == energy
    assert result.on_chip == ("Y",)


def test_six_bits_do_not() -> None:
    assert search(machine(6), WORKLOAD).certificate.value > 3376
