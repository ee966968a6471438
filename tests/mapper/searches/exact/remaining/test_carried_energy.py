"""What labels carry until lanes are known still gets factors within known limits."""

from __future__ import annotations

import numpy as np

from tilewright.mapper.searches.exact.kernels import ChoiceArrays
from tilewright.mapper.searches.exact.remaining.carried_energy import (
    NOTHING_CARRIED,
    CarriedEnergy,
    FactorRange,
    join_carried,
)

WIDTH = 4  # energy, two carried columns, lanes


def dimension(*factors: tuple[float, float]) -> ChoiceArrays:
    """A dimension whose choices multiply the columns 1 and 2 by the factors."""
    linear = np.zeros((len(factors), 2 * WIDTH))
    linear[:, :WIDTH] = [[1.0, first, second, 1.0] for first, second in factors]
    lanes = np.ones(len(factors))
    return ChoiceArrays(np.zeros((len(factors), 1), np.int64), linear, np.zeros((0, 1)), lanes)


def test_each_dimension_widens_the_range() -> None:
    """Two dimensions of 1 or 4 lanes divide by 1 to 16; one that copies multiplies by 1 to 3."""
    paid = NOTHING_CARRIED.before_payment([2, 1])
    assert paid.factors_of(1) == FactorRange(1.0, 1.0)
    above_inner = paid.before_choices(dimension((1.0, 1.0), (0.25, 3.0)))
    assert above_inner.factors_of(1) == FactorRange(0.25, 1.0)
    below_both = above_inner.before_choices(dimension((1.0, 1.0), (0.25, 1.0)))
    assert below_both.factors_of(1) == FactorRange(1 / 16, 1.0)
    assert below_both.factors_of(2) == FactorRange(1.0, 3.0)
    assert below_both.factors_of(3) is None


def test_a_payment_empties_its_column() -> None:
    """What is carried above a payment of the same column is another cost."""
    above = CarriedEnergy(np.array([[1.0, 0.5, 2.0], [2.0, 0.5, 1.0]]))
    paid = above.before_payment([1])
    assert paid.factors_of(1) == FactorRange(1.0, 1.0)
    assert paid.factors_of(2) == FactorRange(0.5, 1.0)


def test_several_ways_to_go_on_join_to_the_widest_range() -> None:
    ways = [
        CarriedEnergy(np.array([[1.0, 0.5, 1.0]])),
        NOTHING_CARRIED,
        CarriedEnergy(np.array([[1.0, 0.25, 0.75], [2.0, 1.0, 3.0]])),
    ]
    joined = join_carried(ways)
    assert joined.factors_of(1) == FactorRange(0.25, 1.0)
    assert joined.factors_of(2) == FactorRange(1.0, 3.0)
    assert join_carried([NOTHING_CARRIED]) is NOTHING_CARRIED
