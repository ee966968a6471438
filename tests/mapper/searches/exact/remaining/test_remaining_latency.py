"""The bounds of time still to come, against every way up."""

from __future__ import annotations

import random
from math import inf

import numpy as np
import pytest

from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.remaining.carried_energy import NOTHING_CARRIED
from tilewright.mapper.searches.exact.remaining.remaining_latency import (
    UNTIMED,
    FieldAmount,
    RemainingLatency,
    least_latencies,
    remaining_at_arrival,
)

LATTICE = Lattice({"m": 6, "k": 4})
SIZE = LATTICE.size
FIELD, WIDTH = 3, 4
Way = dict[int, list[tuple[float, float]]]  # per state: (factor, addend) of all ways up from it


def charged(rng: random.Random, ways: Way, slow: RemainingLatency) -> tuple[Way, RemainingLatency]:
    plus = np.array([[0.0] * SIZE, [float(rng.randrange(-3, 9)) for _ in range(SIZE)]])
    barred = rng.randrange(SIZE)
    plus[0, barred] = inf
    before = {
        s: [] if s == barred else [(f, a + f * float(plus[1, s])) for f, a in ways[s]] for s in ways
    }
    return before, slow.before_charge(
        kernels.ChargeArrays(np.array([0, FIELD]), plus, np.array([-1.0, inf, 0.0]))
    )


def looped(rng: random.Random, ways: Way, slow: RemainingLatency) -> tuple[Way, RemainingLatency]:
    axis = rng.choice(LATTICE.axes)
    before: Way = {}
    for state in ways:
        digit = state // axis.stride % axis.radix
        further = range(state, state + (axis.radix - digit) * axis.stride, axis.stride)
        before[state] = [way for one in further for way in ways[one]]
    return before, slow.before_loops([axis])


def dealt(rng: random.Random, ways: Way, slow: RemainingLatency) -> tuple[Way, RemainingLatency]:
    choices = [(1, 1), (2, 1), (3, 2)]
    reach = np.stack([LATTICE.reach(("m", "k"), choice) for choice in choices])
    linear = np.hstack([np.ones((3, WIDTH)), np.zeros((3, WIDTH))])
    linear[:, FIELD] = [1.0, 0.5, 1 / 6]
    linear[:, WIDTH + FIELD] = [rng.randrange(3) for _ in choices]
    fares = np.array([[field, *(float(rng.randrange(5)) for _ in range(SIZE))]
                      for _ in choices for field in (0, FIELD)])  # fmt: skip
    before: Way = {state: [] for state in ways}
    for number in range(len(choices)):
        factor, more = float(linear[number, FIELD]), float(linear[number, WIDTH + FIELD])
        for state in range(SIZE):
            if (below := int(reach[number, state])) >= 0:
                paid = float(fares[2 * number + 1, 1 + below]) * factor + more
                before[below] += [(f * factor, a + f * paid) for f, a in ways[state]]
    return before, slow.before_choices(kernels.ChoiceArrays(reach, linear, fares, np.ones(3)))


@pytest.mark.random
@pytest.mark.parametrize("seed", range(12))
def test_no_way_up_takes_less(seed: int) -> None:
    """From every state, with calls or owing some: what the kernels compute is at most the least."""
    rng = random.Random(seed)
    arrived = np.arange(SIZE) >= SIZE // 2
    ways: Way = {s: [(1.0, 2.0)] if arrived[s] else [] for s in range(SIZE)}
    slow = remaining_at_arrival(
        np.array([[FIELD, 1.0, 0.0]]), arrived, [FieldAmount(FIELD, 2.0), FieldAmount(0, 9.0)]
    )
    for _ in range(5):
        ways, slow = rng.choice((charged, looped, dealt))(rng, ways, slow)
    _, divided, whole, _ = slow.terms[0].tolist()
    for state, some in ways.items():
        assert (slow.seconds[0, state] == inf) == (not some)
        for calls in (0.0, 7.0, -2.0):
            bound = calls * (divided if calls > 0 else whole) + float(slow.seconds[0, state])
            assert all(bound <= factor * calls + add + 1e-9 for factor, add in some)


def test_without_lanes_and_refunds_the_bound_is_met() -> None:
    rng = random.Random(1)
    arrived = np.arange(SIZE) == SIZE - 1
    ways: Way = {s: [(1.0, 0.0)] if arrived[s] else [] for s in range(SIZE)}
    slow = remaining_at_arrival(np.array([[FIELD, 1.0, 0.0]]), arrived, ())
    for step in (looped, charged, looped, charged, looped):
        ways, slow = step(rng, ways, slow)
    for state, some in ways.items():
        assert slow.seconds[0, state] == min((add for _, add in some), default=inf)


def test_refunds_and_several_trees_lower_it() -> None:
    one = remaining_at_arrival(
        np.array([[FIELD, 2.0, 5.0]]), np.ones(SIZE, np.bool_), [FieldAmount(FIELD, 4.0)]
    )
    assert one.least_latency() == 5.0 + 2.0 * 4.0
    owing = one.before_refunds([FieldAmount(0, -9.0), FieldAmount(FIELD, -1.0)])
    assert owing.least_latency() == 5.0 + 2.0 * 3.0
    assert least_latencies([one, owing]).least_latency() == owing.least_latency()
    assert UNTIMED.least_latency() == 0.0
    assert UNTIMED.before_refunds([FieldAmount(FIELD, -1.0)]) is UNTIMED


@pytest.mark.parametrize(
    ("calls", "limit", "kept"),
    [(4.0, 8.0, 1), (4.0, 7.9, 0), (-4.0, 0.0, 1), (-4.0, -0.1, 0)],
)
def test_kernels_drop_what_is_too_slow(calls: float, limit: float, kept: int) -> None:
    """1 s without calls, 3 s to come; a call takes 1 s or, undivided, which counts below 0, 2 s."""
    table = np.array([0, 1], np.int64), np.array([[0.0, 0.0, -1.0, calls]])
    bound = np.array([kernels.LATENCY, limit, 0.0, 0.0, 0.0, -inf, 2.0, inf])
    rows = np.array([[3.0, 1.0, 2.0, 1.0]])
    below = 4.0 if calls < 0 else 3.0
    carried = NOTHING_CARRIED.rows
    view = kernels.PruningArrays(np.zeros(1), np.ones(1), bound, np.array([[below]]), rows, carried)
    nothing = kernels.ChargeArrays(
        np.zeros(0, np.int64), np.zeros((0, 1)), np.array([-1.0, inf, 0.0])
    )
    _, out, _ = kernels.charge(table, 3, nothing, view)
    assert len(out) == kept
