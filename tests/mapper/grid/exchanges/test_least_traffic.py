"""What elements send and receive at least is never more than what the flows of a reshard carry."""

from __future__ import annotations

import numpy as np
import pytest
from reshards import drawn_reshard

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.exchanges.least_traffic import least_traffic
from tilewright.mapper.grid.exchanges.reshard import Reshard


def carried(case: Reshard) -> tuple[np.ndarray, np.ndarray]:
    """Words that each element sends and receives: (rows, columns)."""
    sent, received = np.zeros((2, case.rows, case.columns))
    for flow in case.flows:
        sent[flow.source] += flow.piece.values
        for target in flow.targets:
            received[target] += flow.piece.values
    return sent, received


@pytest.mark.parametrize("block", range(8))
def test_no_flows_carry_less(block: int) -> None:
    counted = 0
    for seed in range(block * 25, block * 25 + 25):
        case, _ = drawn_reshard(seed)
        least, (sent, received) = least_traffic([case.held], case.needed), carried(case)
        np.testing.assert_array_equal(least.received, received[None])
        assert (least.sent <= least.mean(sent[None]) + 1e-9).all()
        assert least.all_flows[0] <= len(case.flows) + 1e-9
        counted += least.sent.sum() > 0
    assert counted > 3


def halos(first: list[int], extent: int, has: list[bool]) -> Distribution:
    """A rank of 12 values over the columns of one row."""
    starts = np.array(first, dtype=np.int64).reshape(1, -1, 1)
    return Distribution(starts, (extent,), np.array([has]), shape=(12,))


def test_overlapping_pieces_go_out_once_each() -> None:
    """Two parts of 6 values, needed in four of 3 with one more on each side.

    The first part has the pieces 0 to 3, 2 to 5 and 5, of which its element needs the last one.
    """
    needed = halos([8, 5, 2, -1], 5, [True] * 4)
    once = halos([6, 0, 0, 0], 6, [True, True, False, False])
    twice = halos([6, 6, 0, 0], 6, [True, True, False, True])
    traffic = least_traffic([once, twice], needed)
    assert traffic.sent.tolist() == [[[5, 8, 0, 0]], [[0.5, 0.5, 0, 5]]]
    assert traffic.sends[0].tolist() == [[2, 2, 0, 0]]
    assert traffic.all_flows[0] == 4
    known = np.array([[[1.0, 2.0, 3.0, 4.0]]] * 2)
    assert traffic.mean(known).tolist() == [[[1, 2, 3, 4]], [[1.5, 1.5, 3, 4]]]


def test_places_together_have_the_traffic_of_each_alone() -> None:
    """Places on grids of other sizes, and a part that is needed on more elements than have one."""
    needed = halos([8, 5, 2, -1], 5, [True] * 4)
    places = [
        halos([6, 0, 0, 0], 6, [True, True, False, False]),
        halos([0, 4], 4, [True, True]),
        halos([0, 0, 4, 8, 8], 4, [True, False, True, True, True]),
        halos([0, 3], 6, [True, True]),
    ]
    together = least_traffic(places, needed)
    for number, place in enumerate(places):
        alone = least_traffic([place], needed)
        columns = alone.received.shape[2]
        for name in ("received", "flows", "copies", "sent", "sends"):
            values = getattr(together, name)[number]
            assert values[:, :columns].tolist() == getattr(alone, name)[0].tolist(), name
            assert not values[:, columns:].any()
