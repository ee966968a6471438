"""Pareto rows against the obvious twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.mapper.fronts.pareto_points import covered, undominated

small = st.integers(0, 4).map(float)
tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(small, min_size=width, max_size=width), min_size=1, max_size=20)
)


@settings(max_examples=100, deadline=None)
@given(tables)
def test_undominated_rows_equal_the_obvious_ones(rows: list[list[float]]) -> None:
    table = np.array(rows)
    kept = undominated(table).tolist()
    found = [tuple(rows[i]) for i in kept]
    plain = {
        tuple(row)
        for row in rows
        if not any(
            other != row and all(a <= b for a, b in zip(other, row, strict=True)) for other in rows
        )
    }
    assert found == sorted(plain)
    assert all(rows.index(list(row)) == i for row, i in zip(found, kept, strict=True))
    assert covered(table, table[kept]).all()


def test_noise_counts_as_equal() -> None:
    table = np.array([[1.0, 2.0], [1.0 + 1e-15, 1.0], [1.0 - 1e-15, 2.0]])
    assert undominated(table).tolist() == [1]
    assert covered(np.array([[1.0, 1.0 - 1e-15]]), table[[1]]).all()
    assert not covered(np.array([[1.0, 0.999]]), table).any()
    assert undominated(np.zeros((0, 2))).tolist() == []
