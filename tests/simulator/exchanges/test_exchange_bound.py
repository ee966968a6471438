"""The bound of a reshard against a slow twin that follows its flows from router to router."""

from __future__ import annotations

from collections import Counter

import pytest
from reshards import drawn_reshard

from tilewright.mapper.grid.exchanges.flow_phases import RoutedFlow, flow_phases
from tilewright.mapper.grid.exchanges.reshard import Reshard
from tilewright.mapper.grid.number_types import words_of_values
from tilewright.simulator.exchanges.exchange_bound import phases_bound
from tilewright.simulator.exchanges.reshard_program import limits_of
from tilewright.simulator.profiles.profile import Profile, load_profile


def twin(
    case: Reshard, phases: tuple[tuple[RoutedFlow, ...], ...], dtype: str, profile: Profile
) -> float:
    """Return the same bound: what elements issue, and the words of each link one by one."""
    load = profile.descriptor_load_cycles + profile.descriptor_use_cycles
    issue, cycles = min(1.0, float(profile.cycles_per_wavelet)), 0.0
    way = profile.dispatch_to_link_cycles + profile.hop_cycles + profile.arrival_to_execute_cycles
    for phase, flows in enumerate(phases):
        issued: dict[tuple[int, int], float] = {}
        if phase == 0:
            issued = dict.fromkeys(case.copies, float(load))
        words: Counter[tuple[tuple[int, int], str]] = Counter()
        for routed in flows:
            number = words_of_values(routed.flow.piece.values, dtype)
            for place in (routed.flow.source, *routed.flow.targets):
                issued[place] = issued.get(place, 0.0) + load + number * issue
            for router, (_, go) in routed.turns.items():
                words.update({(router, letter): number for letter in go})
        busiest = max(words.values(), default=0)
        carried = load + busiest - 1 + way if busiest else 0.0
        cycles += max(carried, *issued.values(), 0.0)
    return cycles


@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim"])
def test_the_bound_is_that_of_the_twin(machine: str) -> None:
    profile, compared = load_profile(machine), 0
    for seed in range(60):
        case = drawn_reshard(seed)[0]
        phases = flow_phases(case, limits_of(profile))
        for dtype in ("f32", "f16") if phases is not None else ():
            found = phases_bound(case, phases, dtype, profile)
            assert found == twin(case, phases, dtype, profile), seed
            compared += 1
    assert compared > 60
