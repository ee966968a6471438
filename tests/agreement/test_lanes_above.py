"""Lanes above holders of outer memories: carried or listed; needless templates left out or not."""

from __future__ import annotations

from itertools import product

import pytest
from array_cases import loose_space_of
from explore import at_night, enough

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.explain.reach import reach
from tilewright.mapper.mapspace import template_space
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.point_capacity import overflow
from tilewright.mapper.mapspace.points import Points
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.methods.exhaustive import ExhaustiveSearch, is_enumerable
from tilewright.mapper.searches.methods.partial_search import PartialSearch
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Reservation
from tilewright.mapper.workload.workload_loading import load_workload

OPEN = (81, 87, 90, 123)
"""Seeds with choices of lanes that share a template, and few templates."""
OBJECTIVES: tuple[Objective, ...] = ("energy", "latency", "edp")


def spaces_of(seed: int) -> tuple[Mapspace, Mapspace]:
    """Return a mapspace of which templates share choices of lanes, and the same one by one."""
    made = loose_space_of(seed)
    parts = made.einsum, made.flat, "default", made.backed
    return Mapspace(*parts), Mapspace(*parts, lists_lane_choices=True)


def is_open(space: Mapspace) -> bool:
    return any(
        isinstance(slot, Reservation) and slot.open_dims
        for template in space.templates
        for slot in slot_sequence(space.problem, template)
    )


def check(seed: int, limit: int = 3000) -> bool:
    """Compare both mapspaces and their optima; False if one is too large or nothing is shared."""
    shared, listed = spaces_of(seed)
    if len(listed.templates) > limit or not is_open(shared):
        return False
    assert shared.size.points == listed.size.points
    assert shared.count_fitting() == listed.count_fitting()
    for objective in OBJECTIVES:
        goal = Goal(objective)
        one = ExactSearch().find(shared, goal, None)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(template_space, "is_needless", lambda *_: False)
            two = ExactSearch().find(spaces_of(seed)[1], goal, None)
        assert (one.best is None) == (two.best is None)
        if one.best is None or two.best is None:
            continue
        found = MappingScorer(shared).verified(one.best)
        assert shared.contains(found.mapping) is None
        for each in (objective, goal.second):
            assert found.value(each) == pytest.approx(two.best.value(each), rel=1e-9)
    return True


@pytest.mark.parametrize("seed", [*OPEN[2:], *at_night(*OPEN[:2])])
def test_carried_lanes_equal_listed_ones(seed: int) -> None:
    assert check(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_carried_lanes_equal_listed_ones_on_many(block: int) -> None:
    assert enough(sum(check(seed) for seed in range(1000 + 20 * block, 1020 + 20 * block)), 1)


def test_a_template_with_open_lanes_has_a_mapping_where_enumeration_finds_one() -> None:
    looked_at = 0
    for seed in (87, 105):
        space = spaces_of(seed)[0]
        for template in space.templates:
            slots = slot_sequence(space.problem, template)
            if not any(isinstance(slot, Reservation) and slot.open_dims for slot in slots):
                continue
            looked_at += 1
            if looked_at % 5:
                continue
            tiles = reach(space.problem, template, Lattice(space.einsum.bounds))
            first = next(iter(Points(space.problem, template, slots)), None)
            assert (tiles is None) == (first is None)
            assert tiles is None or overflow(space.problem, slots, tiles) is None
    assert looked_at > 20


WIDE = """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, tensors: {keep: All}, COST}
  - !Memory {name: BUF, size: 4096, tensors: {keep: All, force_memory_hierarchy_order: false}, COST}
  - !Container {name: Rows, spatial: [{name: x, fanout: 128}, {name: y, fanout: 128}]}
  - !Memory {name: REG, size: 8, tensors: {keep: A, force_memory_hierarchy_order: false}, COST}
  - !Compute {name: MAC, leak_power: 0, area: 0, actions: [{name: compute, energy: 1, RATE}]}
"""


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_more_lanes_than_can_be_listed_are_searched(conventions: str) -> None:
    """BUF is too small for all tensors, so that holders below the lanes matter."""
    both = "[{name: read, energy: 3, RATE}, {name: write, energy: 3, RATE}]"
    text = WIDE.replace("COST", f"leak_power: 0, area: 0, actions: {both}")
    workload = load_workload(
        "workload:\n  rank_sizes: {M: 64, K: 64, N: 64}\n  bits_per_value: {All: 8}\n"
        '  einsums:\n  - {einsum: "Z[m, n] = A[m, k] * B[k, n]"}\n'
    )
    arch = load_arch(text.replace("RATE", "throughput: 1"))
    proof = search(arch, workload, conventions=conventions).certificate
    assert proof.kind == ("optimal" if conventions == "default" else "bounded")
    assert 0 < proof.lower_bound <= proof.value


LISTED = set(product((40, 48, 56), OBJECTIVES)) - {(40, "edp")}


@pytest.mark.parametrize(
    ("size", "objective"),
    [(40, "edp"), *(pytest.param(*one, marks=pytest.mark.nightly) for one in sorted(LISTED))],
)
def test_templates_that_are_not_modelled_are_listed_if_few_fit(
    size: int, objective: Objective
) -> None:
    both = "[{name: read, energy: 3, RATE}, {name: write, energy: 3, RATE}]"
    text = WIDE.replace("COST", f"leak_power: 0, area: 0, actions: {both}").replace("128", "2")
    arch = load_arch(text.replace("RATE", "throughput: 1").replace("4096", str(size)))
    workload = load_workload(
        "workload:\n  rank_sizes: {M: 4, K: 2}\n  bits_per_value: {All: 8}\n"
        '  einsums:\n  - {einsum: "Z[m] = A[m, k] * B[k]"}\n'
    )
    (einsum,) = workload.einsums
    (flat,) = flatten(arch, workload.scope(einsum))
    space = Mapspace(einsum, flat, "accelforge")
    goal = Goal(objective)
    found = PartialSearch().find(space, goal, None)
    every = ExhaustiveSearch().find(space, goal, None)
    assert found.proven
    assert found.statistics.evaluations > 0
    assert (found.best is None) == (every.best is None)
    if found.best is None or every.best is None:
        return
    for each in (objective, goal.second):
        assert found.best.value(each) == pytest.approx(every.best.value(each), rel=1e-9)
    assert found.lower_bound == pytest.approx(every.best.value(goal), rel=1e-9)


def test_what_fits_decides_whether_a_mapspace_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    space = loose_space_of(81)
    fitting = sum(1 for one in space.points_within(lambda: None) for _ in one)
    assert 0 < fitting < space.point_count_bound
    monkeypatch.setattr("tilewright.mapper.searches.methods.exhaustive.MAX_SCORED", fitting)
    assert is_enumerable(space)
    monkeypatch.setattr("tilewright.mapper.searches.methods.exhaustive.MAX_SCORED", fitting - 1)
    assert not is_enumerable(space)
    monkeypatch.setattr(
        "tilewright.mapper.searches.methods.exhaustive.MAX_CHECKED", space.point_count_bound - 1
    )
    monkeypatch.setattr("tilewright.mapper.searches.methods.exhaustive.MAX_SCORED", fitting)
    assert not is_enumerable(space)
