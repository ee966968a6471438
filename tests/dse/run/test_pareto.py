"""The front filter against its slow twin, and the hypervolume against areas computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.dse.run.pareto import hypervolume, non_dominated, oriented, reference_box


def slowly_non_dominated(costs):
    """Every pair, by the definition."""
    return [
        not any(
            all(o <= p for o, p in zip(other, point, strict=True))
            and any(o < p for o, p in zip(other, point, strict=True))
            for other in costs
        )
        for point in costs
    ]


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.tuples(*[st.integers(0, 6).map(float)] * width), min_size=1, max_size=60
        )
    )
)
@settings(deadline=None, max_examples=100)
def test_filter_equals_the_definition(points):
    assert non_dominated(np.array(points)).tolist() == slowly_non_dominated(points)


def test_filter_over_several_blocks():
    rng = np.random.default_rng(5)
    points = rng.integers(0, 40, size=(700, 3)).astype(float)
    assert non_dominated(points).tolist() == slowly_non_dominated(points.tolist())


def test_no_points():
    assert non_dominated(np.empty((0, 2))).tolist() == []


def test_maximized_objectives_are_turned_round():
    costs = oriented([[1.0, 5.0], [2.0, 7.0]], ["minimize", "maximize"])
    assert costs.tolist() == [[1.0, -5.0], [2.0, -7.0]]
    assert non_dominated(costs).tolist() == [True, True]


def test_hypervolume_of_a_staircase():
    # Box [0, 10]²; (2, 6) covers 8·4, (5, 3) covers 5·7, they share 5·4.
    costs = np.array([[2.0, 6.0], [5.0, 3.0], [6.0, 7.0]])
    share = hypervolume(costs, np.zeros(2), np.full(2, 10.0))
    assert share == pytest.approx((8 * 4 + 5 * 7 - 5 * 4) / 100)


def test_reference_box_has_a_volume_even_for_one_point():
    ideal, reference = reference_box(np.array([[3.0, 0.0]]))
    assert (reference > ideal).all()
    assert hypervolume(np.array([[3.0, 0.0]]), ideal, reference) == pytest.approx(1.0)
