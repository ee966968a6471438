"""The knee of a front."""

from math import inf

import pytest

from tilewright.mapper.fronts.knee import Column, knee


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([(0, 2, 9), (9, 2, 0)], 1),
        ([(0.0, 1.0), (1.0, 0.0)], 0),  # of two as far, the first
        ([(5.0, 4.0, 3.0), (7.0, 7.0, 7.0)], 2),  # a metric that does not differ counts nothing
        ([(1.0, 2.0, inf), (3.0, 2.0, 1.0)], 2),  # nor does one without a finite span
        ([(0, 1000, 3000), (3, 1, 0)], 1),
    ],
)
def test_the_point_nearest_to_the_least_of_all(columns, expected):
    assert knee([Column(tuple(values)) for values in columns]) == expected
