"""The selected grid against an enumeration of all grids."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.schemes.grid_selection import rectangle, select_grid
from tilewright.mapper.mapspace.factors import divisors

sides = st.integers(1, 60)
devices = st.tuples(st.integers(1, 6), st.integers(1, 6))


def test_primes_leave_one_core() -> None:
    """11 × 13 tiles on 8 × 8: one core; 1 × 17: one core (layouts.md §7.4)."""
    assert select_grid((11, 13), (8, 8)).cores == 1
    assert select_grid((1, 17), (8, 8)).cores == 1
    with pytest.raises(SpecError, match="two or more extents"):
        select_grid((5,), (8, 8))


@given(st.integers(1, 400), devices)
def test_divisors_and_rectangles_against_trying_all(number: int, device: tuple[int, int]) -> None:
    assert list(divisors(number)) == [d for d in range(1, number + 1) if number % d == 0]
    fitting = [
        (r, number // r) for r in divisors(number) if r <= device[0] and number // r <= device[1]
    ]
    nearest = rectangle(number, device)
    assert (nearest is None) == (not fitting)
    if nearest is not None:
        assert abs(nearest[0] - nearest[1]) == min(abs(r - c) for r, c in fitting)


@given(st.tuples(sides, sides), devices)
def test_two_dimensions_against_trying_all(
    extents: tuple[int, int], device: tuple[int, int]
) -> None:
    selected = select_grid(extents, device)
    assert all(x % c == 0 for x, c in zip(extents, selected.grid, strict=True))
    block = max(
        prod(g)
        for g in product(range(1, device[0] + 1), range(1, device[1] + 1))
        if extents[0] % g[0] == 0 and extents[1] % g[1] == 0
    )
    if selected.kind == "block":
        assert selected.cores == block
    else:
        assert block < prod(device) / 2
        assert selected.cores > prod(device) / 4
        assert selected.physical == rectangle(selected.cores, device)


@given(st.tuples(*[st.integers(1, 12)] * 3), devices)
def test_three_dimensions_use_the_most_units(
    extents: tuple[int, ...], device: tuple[int, int]
) -> None:
    best = max(
        prod(grid)
        for grid in product(*map(divisors, extents))
        if prod(grid) <= prod(device) and rectangle(prod(grid), device)
    )
    assert select_grid(extents, device).cores == best
