"""Ways of flows through the routers, and the phases in which they share colors."""

from itertools import combinations

from reshards import along_a_line, drawn_reshard

from tilewright.mapper.grid.exchanges.flow_phases import PhaseLimits, flow_phases
from tilewright.mapper.grid.exchanges.reshard import reshard

LIMITS = PhaseLimits(colors=4, inputs=3, outputs=2, extended=16, strides=8)


def test_what_runs_at_once_has_its_own_routers_and_queues() -> None:
    for seed in range(60):
        case = drawn_reshard(seed)[0]
        phases = flow_phases(case, LIMITS)
        assert phases is not None
        assert sorted(r.flow.piece for p in phases for r in p) == sorted(
            flow.piece for flow in case.flows
        )
        for phase in phases:
            for first, second in combinations(phase, 2):
                if first.color == second.color:
                    assert not set(first.turns) & set(second.turns)
            for place in {r.flow.source for r in phase} | {
                t for r in phase for t in r.flow.targets
            }:
                assert sum(r.flow.source == place for r in phase) <= LIMITS.outputs
                assert sum(place in r.flow.targets for r in phase) <= LIMITS.inputs
            assert {r.color for r in phase} <= set(range(LIMITS.colors))


def test_a_gather_over_nine_elements_takes_the_queues_of_two_phases() -> None:
    case = reshard("T", along_a_line(10, 0, 10), along_a_line(10, None, 10))
    assert case is not None
    phases = flow_phases(case, PhaseLimits(24, 8, 6, 16, 8))
    assert phases is not None
    assert [len(phase) for phase in phases] == [8, 2]


def test_a_piece_beyond_the_registers_has_no_phase() -> None:
    case = reshard("T", along_a_line(4, 0, 8), along_a_line(4, 1, 8))
    assert case is not None
    assert flow_phases(case, PhaseLimits(24, 8, 6, 0, 8)) is None
