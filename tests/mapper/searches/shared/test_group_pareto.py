"""Pareto sets within groups, against a slow twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.searches.shared.group_pareto import pareto

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)),
    min_size=1,
    max_size=30,
)


@given(ROWS)
def test_pareto_keeps_what_nothing_dominates(rows: list[tuple[int, ...]]) -> None:
    groups = np.array([row[0] for row in rows], np.int64)
    values = np.array([row[1:] for row in rows], np.float64)
    kept = pareto(groups, values).tolist()
    wanted = {
        row
        for row in rows
        if not any(
            other != row
            and other[0] == row[0]
            and all(a <= b for a, b in zip(other[1:], row[1:], strict=True))
            for other in rows
        )
    }
    assert {rows[i] for i in kept} == wanted
    assert len(kept) == len(wanted)  # of equal rows one
