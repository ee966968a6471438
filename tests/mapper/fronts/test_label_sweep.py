"""What a sweep offers to its target: everything that the target wants, and exact rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from fused_cases import two_memories, workload_of
from nodes import arch_text, lanes, mac, memory
from numpy.typing import NDArray

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fronts.label_sweep import LabelSweep
from tilewright.mapper.fronts.mapspace_front import with_usage_choices
from tilewright.mapper.fronts.pareto_points import undominated
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget, OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_fields import DesignFamily
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.objective.targets import TracedMapping
from tilewright.mapper.searches.program import compiled_mapspace
from tilewright.mapper.searches.program.compiled_mapspace import compile_mapspace
from tilewright.mapper.searches.shared.priced_steps import with_extra_joules

WORKLOAD = workload_of(("Y[m] = A[m, k] * B[k]",), {"m": 2, "k": 2})

LANES = arch_text(
    memory("DRAM", "inf", "keep: All", (40, 2)),
    memory("BUF", 64, "keep: input, may_keep: All", (2, 8), (3, 8)),
    lanes("GRID", "x", 4, "may_reuse: All"),
    mac(0.5),
)


class Everything:
    """A target that wants every label, and drops none."""

    def __init__(self) -> None:
        self.offered: list[TracedMapping] = []

    def corners(self) -> Floats:
        return np.zeros((0, 0))

    def hopeful(self, floors: Floats) -> NDArray[np.bool_]:
        return np.ones(len(floors), np.bool_)

    def wanted(self, rows: Floats) -> list[int]:
        return list(range(len(rows)))

    def offer(self, candidates: Sequence[TracedMapping]) -> None:
        self.offered += candidates


def mapspace() -> Mapspace:
    einsum = WORKLOAD.einsums[0]
    (flat,) = flatten(two_memories(6), WORKLOAD.scope(einsum))
    return with_usage_choices(Mapspace(einsum, flat), ("BUF",))


def sweep_of(space: Mapspace, budget: Budget = UNLIMITED) -> LabelSweep:
    compiled = compile_mapspace(space, budget=UNLIMITED, tracked=frozenset({"BUF"}))
    return LabelSweep(compiled, (compiled.engine.fields.used_bits["BUF"],), budget)


def test_rows_are_what_the_model_says() -> None:
    """Where adjacent holders shrink, another template has the row with fewer bits."""
    space, target = mapspace(), Everything()
    sweep = sweep_of(space)
    sweep.run(target)
    scorer = MappingScorer(space)
    scored: list[tuple[float, ...]] = []
    for candidate in target.offered:
        mapping = assemble(space.problem, candidate.program.slot_sequence, candidate.tiles)
        score = scorer.score(mapping)
        bits = float(score.capacity.get("BUF", 0))
        scored.append((score.energy, score.latency, bits))
        assert candidate.row[:2] == pytest.approx(scored[-1][:2])
        assert candidate.row[2] >= bits
    best = undominated(np.array([candidate.row for candidate in target.offered])).tolist()
    assert best
    assert [target.offered[i].row for i in best] == [pytest.approx(scored[i]) for i in best]
    assert sweep.labels >= len(target.offered)


def test_a_limit_of_energy_keeps_what_is_below_it() -> None:
    every, limited = Everything(), Everything()
    sweep_of(mapspace()).run(every)
    rows = {candidate.row for candidate in every.offered}
    limit = sorted(row[0] for row in rows)[len(rows) // 2]
    sweep_of(mapspace()).run(limited, limit)
    assert {row for row in rows if row[0] < limit} <= {c.row for c in limited.offered}
    assert len(limited.offered) <= len(every.offered)


def test_the_lower_bound_of_a_mapspace() -> None:
    target = Everything()
    sweep = sweep_of(mapspace())
    sweep.run(target)
    least = np.min([candidate.row for candidate in target.offered], axis=0)
    assert (np.array(sweep.lower_bound) <= least * (1 + 1e-12)).all()
    assert sweep.lower_bound[0] < inf
    assert sweep.states == 4  # m and k have two tiles each


def test_bounds_at_several_prices_are_those_of_each() -> None:
    """Of a workload with carried counts, loops, lanes and limits, at three prices."""
    work = workload_of(("Y[m] = A[m, k] * B[k]",), {"m": 4, "k": 6})
    (flat,) = flatten(load_arch(LANES), work.scope(work.einsums[0]))
    space = Mapspace(work.einsums[0], flat)
    dearer = [{("DRAM", "read"): 5.0}, {("BUF", "write"): 3.0, ("BUF", "read"): 1.0}]
    family = DesignFamily((*dearer, {**dearer[0], **dearer[1]}))
    tree = compile_mapspace(space, family=family).tree
    assert len(tree.bounds) > 20
    for number, more in enumerate(dearer):
        problem = with_extra_joules(space.problem, more)
        alone = compile_mapspace(space.with_flat(replace(flat, components=problem.components)))
        for one, other in zip(tree.bounds, alone.tree.bounds, strict=True):
            for cost, expected in ((one.before, other.before), (one.after, other.after)):
                assert cost.further is not None
                assert np.allclose(cost.further()[number], expected.energy, rtol=1e-12)
                assert (cost.further()[2] >= cost.further()[number]).all()


def test_bounds_for_other_fanouts_are_those_of_a_mapspace_compiled_for_them() -> None:
    """Those above all choices of lanes are taken over, the others computed."""
    work = workload_of(("Y[m] = A[m, k] * B[k]",), {"m": 4, "k": 6})
    (flat,) = flatten(load_arch(LANES), work.scope(work.einsums[0]))
    space = Mapspace(work.einsums[0], flat)
    dims = [(c.name, dim.name, dim.fanout) for c in flat.components for dim in c.spatial]
    all_lanes, few = (DesignFamily(({("DRAM", "read"): 5.0},), tuple(lanes)) for lanes in (
        dims, [(component, name, min(lanes, 2)) for component, name, lanes in dims]))  # fmt: skip
    assert all_lanes != few
    compiled_mapspace._KEPT.clear()
    wide = compile_mapspace(space, family=all_lanes)
    shared = compile_mapspace(space, family=few).tree
    compiled_mapspace._KEPT.clear()
    alone = compile_mapspace(space, family=few).tree
    same = sum(a.before is b.before for a, b in zip(wide.tree.bounds, shared.bounds, strict=True))
    assert 0 < same < len(shared.bounds)
    for one, other in zip(shared.bounds, alone.bounds, strict=True):
        for cost, expected in ((one.before, other.before), (one.after, other.after)):
            assert cost.further is not None
            assert expected.further is not None
            assert np.array_equal(cost.energy, expected.energy)
            assert np.array_equal(cost.lanes, expected.lanes)
            assert np.array_equal(cost.carried.rows, expected.carried.rows)
            assert np.array_equal(cost.further(), expected.further())
    assert any((a.before.energy < b.before.energy).any() for a, b in zip(
        wide.tree.bounds, shared.bounds, strict=True))  # fmt: skip


def test_a_used_up_budget_ends_the_sweep() -> None:
    with pytest.raises(OutOfBudget):
        sweep_of(mapspace(), Budget(deadline=0.0)).run(Everything())
