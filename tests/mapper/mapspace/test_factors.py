"""Prime factors and divisors, small ones against trying all and large ones multiplied out."""

from __future__ import annotations

import random
from math import prod

import pytest

from tilewright.mapper.mapspace.factors import divisors, factorise


def test_small_numbers_against_trying_all() -> None:
    for number in range(1, 3000):
        assert divisors(number) == tuple(d for d in range(1, number + 1) if number % d == 0)
        assert prod(prime**exponent for prime, exponent in factorise(number)) == number


@pytest.mark.parametrize(
    ("number", "factors"),
    [
        (999_999_999_999_999_989, ((999_999_999_999_999_989, 1),)),
        (1_000_000_007**2, ((1_000_000_007, 2),)),
        (1_000_000_007 * 1_000_000_009, ((1_000_000_007, 1), (1_000_000_009, 1))),
        (2**10 * 3_215_031_751, ((2, 10), (151, 1), (751, 1), (28_351, 1))),
        (1031**3, ((1031, 3),)),
    ],
)
def test_large_numbers(number: int, factors: tuple[tuple[int, int], ...]) -> None:
    assert factorise(number) == factors


def test_products_of_large_primes() -> None:
    rng = random.Random(1)
    primes = [1031, 1048583, 2147483647, 1000003, 67280421310721]
    for _ in range(6):
        chosen = sorted(rng.choices(primes, k=2))
        number = prod(chosen)
        assert [p for p, n in factorise(number) for _ in range(n)] == chosen
        assert len(divisors(number)) == (3 if chosen[0] == chosen[1] else 4)
