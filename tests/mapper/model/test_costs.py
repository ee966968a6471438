"""Counts to joules and seconds: theory/model.md §5 and §6 on the running example."""

from __future__ import annotations

from running_example import ARCH, LANES, LOOPS, path_of, view_of

from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.costs import Costs, area_by, costs_of, leak_power_by
from tilewright.mapper.model.tally import tally

DEFAULT, ACCELFORGE = (conventions_called(name) for name in ("default", "accelforge"))


def costs(nodes=LOOPS, arch=ARCH, conventions=DEFAULT):
    view = view_of(arch=arch)
    return costs_of(tally(path_of(nodes), view, conventions), view.flat, conventions)


def test_costs_of_the_running_example() -> None:
    result = costs()
    # 32 + 64 + 64 + 48 actions, one a second; BUF has 64 + 32 at four a second.
    assert result.latency_by == {"Z/DRAM": 208.0, "Z/BUF": 24.0, "Z/MAC": 64.0}
    assert result.latency == 208.0
    assert result.energy_by == {
        "Z/DRAM/A/read": 320.0,
        "Z/DRAM/B/read": 640.0,
        "Z/DRAM/Z/read": 480.0,
        "Z/DRAM/Z/write": 640.0,
        "Z/BUF/A/read": 128.0,
        "Z/BUF/A/write": 64.0,
        "Z/MAC/None/compute": 64.0,
        "Z/DRAM/leak": 0.0,
        "Z/BUF/leak": 104.0,  # 0.5 W for 208 s
        "Z/MAC/leak": 0.0,
    }
    assert (result.dynamic_energy, result.leak_energy) == (2336.0, 104.0)
    assert result.actions["Z/DRAM/A/write"] == 0


def test_actions_carry_several_values_and_their_scale() -> None:
    """8 bits per action: an eighth as many reads; actions_scale counts each of them twice."""
    wide = ARCH.replace(
        "    size: 64\n", "    size: 64\n    bits_per_action: 8\n    actions_scale: 2\n"
    )
    result = costs(arch=wide)
    assert (result.actions["Z/BUF/A/read"], result.actions["Z/BUF/A/write"]) == (16, 8)
    assert result.latency_by["Z/BUF"] == 24 / 4


GATED = ARCH.replace("leak_power: 0\n    spatial", "leak_power: 2\n    spatial").replace(
    "{name: x, fanout: 2}", "{name: x, fanout: 4, power_gateable: true}"
)


def test_lanes_that_do_not_work_are_gated() -> None:
    """2 of 4 lanes of x work, y is not gateable: half of 8 instances, 2 W each, leaks."""
    result = costs(LANES, GATED)
    assert result.energy_by["Z/MAC/leak"] == 8 * 2 * 0.5 * result.latency
    theirs = costs(LANES, GATED, ACCELFORGE)  # one instance, and the share divided by 4 again
    assert theirs.energy_by["Z/MAC/leak"] == 1 * 2 * 0.5 / 4 * theirs.latency


def test_area_and_leakage_count_all_instances() -> None:
    flat = view_of().flat
    assert area_by(flat, DEFAULT) == {"DRAM": 0.0, "BUF": 3.0, "MAC": 4.0}
    assert area_by(flat, ACCELFORGE) == {"DRAM": 0.0, "BUF": 3.0, "MAC": 1.0}
    assert leak_power_by(flat, DEFAULT) == {"DRAM": 0.0, "BUF": 0.5, "MAC": 0.0}


def test_costs_of_einsums_add() -> None:
    total = Costs(latency=1.0, dynamic_energy=2.0, energy_by={"Y/MAC/None/compute": 2.0})
    total.add(costs())
    assert (total.latency, total.dynamic_energy, total.leak_energy) == (209.0, 2338.0, 104.0)
    assert total.energy_by["Y/MAC/None/compute"] == 2.0
    assert total.energy_by["Z/MAC/None/compute"] == 64.0


def test_the_busiest_link_takes_the_time_of_a_network() -> None:
    """Four rounds of: tiles of m2 k4 to the two lanes of x, then for each k one m to those of y.

    Own tiles travel one link to the second lane, shared ones too. Per round, values x links:
    A 8 (shared along x) + 2 * 4, B 4 + 2 * 4 (shared along y), Z 2 + 2 * 4.
    """
    network = (
        "  - !Network\n    name: NOC\n    area: 0\n    leak_power: 0\n"
        "    actions: [{name: hop, energy: 3, throughput: 1, latency: 1}]\n  - !Compute"
    )
    result = costs(LANES, ARCH.replace("  - !Compute", network))
    hops = {key: count for key, count in result.actions.items() if key.endswith("/hop")}
    assert hops == {"Z/NOC/A/hop": 4 * 16, "Z/NOC/B/hop": 4 * 12, "Z/NOC/Z/hop": 4 * 10}
    assert result.energy_by["Z/NOC/A/hop"] == 3 * 64
    assert result.latency_by["Z/NOC"] == 4 * (8 + 4 + 2)  # the first link of x
