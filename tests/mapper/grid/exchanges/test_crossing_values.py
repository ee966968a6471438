"""The values of the busiest link are those that the flows of a reshard carry over it."""

import numpy as np
import pytest
from reshards import drawn_reshard

from tilewright.mapper.grid.exchanges.crossing_values import busiest_link
from tilewright.mapper.grid.exchanges.reshard import Reshard


def carried(case: Reshard) -> int:
    """Values of all flows that cross the busiest link, counted link by link."""
    east, west, north, south = np.zeros((4, case.rows, case.columns), dtype=np.int64)
    for flow in case.flows:
        (row, column), number = flow.source, flow.piece.values
        east[row, column : max(flow.spans)] += number
        west[row, min(flow.spans) + 1 : column + 1] += number
        for place, (first, last) in flow.spans.items():
            north[first + 1 : row + 1, place] += number
            south[row:last, place] += number
    return int(max(links.max() for links in (east, west, north, south)))


@pytest.mark.parametrize("block", range(4))
def test_no_flows_carry_less_over_all_links(block: int) -> None:
    known = exact = 0
    for seed in range(block * 100, block * 100 + 100):
        case, _ = drawn_reshard(seed)
        least = busiest_link(case.held, case.needed)
        assert least <= carried(case), seed
        known += least > 0
        exact += least == carried(case) > 0
    assert known > 30
    assert exact > 0.8 * known
