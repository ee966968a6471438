"""Exchanges of halos: which there are, what passes, and how often."""

import numpy as np
import pytest

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.exchanges.halo import HaloExchange, halo_exchange


def parts(
    elements: tuple[int, int], extents: tuple[int, int], halo: int = 0, padded: bool = False
) -> Distribution:
    """A plane whose rows lie over the rows of the grid, columns over its columns."""
    first = np.stack(np.indices(elements) * np.array(extents)[:, None, None], axis=2) - halo
    whole = (extents[0] + 2 * halo, extents[1] + 2 * halo)
    return Distribution(first, whole, np.ones(elements, dtype=bool), padded)


def exchange(elements: tuple[int, int], extents: tuple[int, int], halo: int) -> HaloExchange:
    result = halo_exchange("A", parts(elements, extents), parts(elements, extents, halo))
    assert result is not None
    return result


def test_a_halo_of_one_goes_west_east_north_south() -> None:
    """3 x 4 elements of 2 x 5 values: rows first, with 5 values; then columns, with 2 + 2."""
    result = exchange((3, 4), (2, 5), 1)
    assert [(s.axis, s.step, s.values, int(s.links.sum())) for s in result.shifts] == [
        ("Y", 1, 5, 2), ("Y", -1, 5, 2), ("X", 1, 4, 3), ("X", -1, 4, 3)
    ]  # fmt: skip
    assert result.inner == ((1, 2), (1, 5))
    south = result.shifts[0]
    assert (south.sent, south.received) == (((2, 1), (1, 5)), ((0, 1), (1, 5)))
    assert result.passed == result.hops("f32") == 2 * (2 * 4 * 5) + 2 * (3 * 3 * 4)
    assert result.hops("i16") == 2 * (2 * 4 * 5) + 2 * (3 * 3 * 2)  # slabs of 5 values, and of 4
    assert result.reads == 12 * 10 + result.passed
    assert result.writes == 12 * 4 * 7


def test_a_halo_wider_than_a_part_takes_steps() -> None:
    result = exchange((1, 6), (4, 2), 5)
    along = [s for s in result.shifts if s.axis == "X" and s.step == 1 and s.links.any()]
    assert [(s.sent[1], s.received[1]) for s in along] == [
        ((5, 2), (3, 2)), ((3, 2), (1, 2)), ((2, 1), (0, 1))
    ]  # fmt: skip


def test_a_rank_that_is_whole_in_an_element_is_next_to_zeros() -> None:
    result = exchange((1, 4), (3, 2), 1)
    above = [s for s in result.shifts if s.received[0][1] == 1]
    assert above
    assert not any(s.links.any() for s in above)


def test_no_exchange_where_neighbours_do_not_have_the_part() -> None:
    whole = parts((2, 2), (4, 4), 1)
    apart = parts((2, 2), (4, 4))
    swapped = Distribution(apart.first[::-1], apart.extents, apart.has)
    missing = Distribution(apart.first, apart.extents, np.array([[True, True], [True, False]]))
    for held in (missing, parts((2, 2), (4, 4), padded=True), parts((2, 1), (4, 4)), whole):
        assert halo_exchange("A", held, whole if held is not whole else apart) is None
    assert halo_exchange("A", swapped, whole) is None
    mirrored = Distribution(swapped.first - 1, whole.extents, whole.has)
    assert halo_exchange("A", swapped, mirrored) is None


@pytest.mark.parametrize("halo", [1, 2])
def test_groups_of_elements_are_no_neighbours(halo: int) -> None:
    """Two batches of 2 parts each along one row: the batches exchange nothing."""
    first = np.array([[[0, 0], [0, 3], [1, 0], [1, 3]]])
    has = np.ones((1, 4), dtype=bool)
    held = Distribution(first, (1, 3), has)
    needed = Distribution(first - [0, halo], (1, 3 + 2 * halo), has)
    result = halo_exchange("A", held, needed)
    assert result is not None
    assert [s.links.tolist() for s in result.shifts] == [
        [False, True, False, True], [True, False, True, False]
    ]  # fmt: skip
