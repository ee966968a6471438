"""Ways of flows: ports at each router, and the routers and links on the way."""

from reshards import drawn_reshard

from tilewright.mapper.grid.exchanges.flow_ways import flow_routers, flow_turns
from tilewright.mapper.grid.exchanges.reshard import Flow, Piece


def test_a_flow_goes_along_its_row_and_then_along_columns() -> None:
    flow = Flow(Piece((0,), (1,)), (1, 0), ((0, 1), (1, 2), (2, 2)))
    assert flow_turns(flow) == {
        (1, 0): ("R", "E"), (1, 1): ("W", "EN"), (0, 1): ("S", "R"),
        (1, 2): ("W", "SR"), (2, 2): ("N", "R"),
    }  # fmt: skip


def test_routers_and_links_are_those_of_the_turns() -> None:
    compared = 0
    for seed in range(60):
        case = drawn_reshard(seed)[0]
        for flow in case.flows:
            turns = flow_turns(flow)
            bits = sum(1 << (row * case.columns + column) for row, column in turns)
            assert flow_routers(flow, case.columns) == bits
            sent = "".join(go for _, go in turns.values())
            assert flow.links == len(sent.replace("R", ""))
            compared += 1
    assert compared > 100
