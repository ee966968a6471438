"""When words pass a slow place of the border."""

import random

import numpy as np

from tilewright.simulator.compile.fabric.exit_times import exit_cycles


def one_by_one(arrivals: list[int], interval: int) -> list[int]:
    """Let each word pass when it has come and the place is free again."""
    passed: list[int] = []
    for cycle in arrivals:
        passed.append(max(cycle, passed[-1] + interval) if passed else cycle)
    return passed


def test_the_example() -> None:
    assert exit_cycles(np.array([3, 4, 9]), 4).tolist() == [3, 7, 11]


def test_words_pass_one_by_one() -> None:
    rng = random.Random(1)
    for _ in range(50):
        arrivals = sorted(rng.sample(range(200), rng.randint(1, 40)))
        for interval in (1, 2, 5, 30):
            passed = exit_cycles(np.array([arrivals, arrivals]), interval)
            assert passed.tolist() == 2 * [one_by_one(arrivals, interval)]
