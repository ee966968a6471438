"""A matrix-vector product of any size: closed form, fast engine, reference engine, values."""

import resource

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.examples.gemv import gemv_like, wse2_cycles
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")


@settings(max_examples=12, deadline=None)
@given(st.integers(2, 9), st.integers(2, 9), st.integers(8, 300), st.integers(0, 6))
def test_three_ways_to_the_same_cycles(height: int, width: int, words: int, work: int) -> None:
    program = gemv_like(height, width, words, work)
    x = np.arange(width * words, dtype=np.float32).reshape(width, words) % 7
    fast = FastMachine(program, WSE2)
    assert fast.certificate.granted
    assert fast.certificate.evaluations <= 2 * fast.certificate.units
    assert fast.cycles == wse2_cycles(height, width, words, work)
    own = np.ones((height, width, words), dtype=np.float32)
    edges = {"x": x} if work else {}
    result = Machine(program, WSE2).run(memory={} if work else {"sum": own}, edges=edges)
    assert result.cycles == fast.cycles
    expected = height * 0.5 * work * x.sum(axis=0) if work else height * width
    assert (result.edges["y"].values[0] == expected).all()


@pytest.mark.parametrize("size", [64])
def test_evaluations_of_a_larger_grid(size: int) -> None:
    fast = FastMachine(gemv_like(size, size, 256, 4), WSE2)
    assert fast.cycles == wse2_cycles(size, size, 256, 4)
    assert fast.certificate.evaluations == fast.certificate.units


@pytest.mark.nightly
def test_a_full_wafer() -> None:
    """750 x 994 elements, 1 KiB broadcast to and reduced from each."""
    fast = FastMachine(gemv_like(750, 994, 256, 4), WSE2)
    assert fast.certificate.granted
    assert fast.cycles == wse2_cycles(750, 994, 256, 4) == 13335
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4e6
