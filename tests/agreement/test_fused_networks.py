"""The search of workloads on designs with networks against every fused mapping."""

from __future__ import annotations

import pytest
from compared import OBJECTIVES, compare
from copied_cases import random_sent_case
from explore import at_night, enough
from fused_cases import Case, random_meshed_case, random_network_case, random_relayed_case
from fused_owns import Subject

from tilewright.mapper.fusion.pmappings import inner_programs as parts
from tilewright.mapper.searches.search_errors import InternalError


def check(seed: int, limit: int, case: Case = random_network_case) -> bool:
    """Compare the two optima; False if there are too many mappings to enumerate.

    With several dimensions by default only: under accelforge those behind a network stand in
    another order than the listing writes (tests/conformance/test_lane_order.py).
    """
    arch, workload, conventions = case(seed)
    conventions = "default" if case in (random_meshed_case, random_relayed_case) else conventions
    compared = compare(Subject(arch, workload, conventions), OBJECTIVES[seed % 3], limit)
    if compared is not None and compared.result is not None:
        scope = compared.result.certificate.scope
        assert "spatial loops adjacent to their fanout" in scope
    return compared is not None


@pytest.mark.parametrize(
    "seed", [0, *at_night(1, 2, 3, 4, 101)]
)  # 101: tiles stream past registers
def test_fused_optimum_with_a_network(seed: int) -> None:
    assert check(seed, 30_000) or seed > 0


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(12))
def test_fused_optimum_with_a_network_of_many(block: int) -> None:
    seeds = range(100 + block * 10, 110 + block * 10)
    assert enough(sum(check(seed, 60_000) for seed in seeds), 4)


@pytest.mark.parametrize("seed", [6, *at_night(0, 1, 3, 9)])
def test_fused_optimum_with_a_network_and_lanes_above(seed: int) -> None:
    assert check(seed, 8_000, random_relayed_case)


def test_what_lanes_above_send_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "network_charges", lambda *_: {})
    with pytest.raises(InternalError, match="the fused search computed energy"):
        check(0, 8_000, random_relayed_case)


@pytest.mark.parametrize("seed", [3, *at_night(2, 5, 9)])
def test_fused_optimum_with_two_dimensions_behind_networks(seed: int) -> None:
    assert check(seed, 8_000, random_meshed_case)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(12))
def test_fused_optimum_with_two_dimensions_behind_networks_of_many(block: int) -> None:
    seeds = range(100 + block * 10, 110 + block * 10)
    assert enough(sum(check(seed, 8_000, random_meshed_case) for seed in seeds), 4)


def test_what_lanes_above_send_counts_beside_lanes_still_to_be_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "charge_sites_at_fixed_lanes", lambda *_: [])
    with pytest.raises(InternalError, match="the fused search computed energy"):
        check(1, 8_000, random_meshed_case)


@pytest.mark.parametrize("seed", [6, *at_night(1, 3, 11, 15)])
def test_fused_optimum_of_copies_over_a_network(seed: int) -> None:
    assert check(seed, 8_000, random_sent_case)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(12))
def test_fused_optimum_of_many_copies_over_a_network(block: int) -> None:
    seeds = range(100 + block * 10, 110 + block * 10)
    assert enough(sum(check(seed, 30_000, random_sent_case) for seed in seeds), 4)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(12))
def test_fused_optimum_with_networks_and_lanes_above_of_many(block: int) -> None:
    seeds = range(100 + block * 10, 110 + block * 10)
    assert enough(sum(check(seed, 30_000, random_relayed_case) for seed in seeds), 4)
