"""Which labels a pass of the join keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.fusion.join.label_pass import JoinLabels, suffix_maximum, undominated_labels


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=4))
def test_what_is_behind_is_the_greatest_from_there_on(peaks: list[list[int]]) -> None:
    wanted = [[max(row[i:]) for i in range(3)] for row in peaks]
    assert suffix_maximum(np.array(peaks, np.float64)).tolist() == wanted


def test_reduced_labels_compare_every_depth() -> None:
    """fusion.md §5: one number for all depths would lose the optimum."""
    shallow = [1.0, 0.0, 1.0, 9.0, 9.0, 9.0]
    deep = [1.0, 0.0, 4.0, 4.0, 9.0, 9.0]
    worse = [2.0, 0.0, 4.0, 9.0, 9.0, 9.0]
    values = np.array([worse, deep, shallow])
    made = JoinLabels(np.zeros(3, np.int64), values, np.zeros((3, 4), np.int64))
    assert undominated_labels([made]).values.tolist() == [shallow, deep]
