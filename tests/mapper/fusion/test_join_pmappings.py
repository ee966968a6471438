"""Which labels a pass of the join keeps."""

from __future__ import annotations

import numpy as np

from tilewright.mapper.fusion.join.join_pmappings import JoinLabels, undominated_labels


def test_reduced_labels_compare_every_depth() -> None:
    """fusion.md §5: one number for all depths would lose the optimum."""
    shallow = [1.0, 0.0, 1.0, 9.0, 9.0, 9.0]
    deep = [1.0, 0.0, 4.0, 4.0, 9.0, 9.0]
    worse = [2.0, 0.0, 4.0, 9.0, 9.0, 9.0]
    values = np.array([worse, deep, shallow])
    made = JoinLabels(np.zeros(3, np.int64), values, np.zeros((3, 4), np.int64))
    assert undominated_labels([made]).values.tolist() == [shallow, deep]
