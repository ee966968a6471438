"""The heap of families: bounds rise at each step, and every member comes out of it once."""

from __future__ import annotations

import pytest
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.candidates.family_heap import FamilyHeap, HeapEntry, Values


class LatencyAndWords:
    """Bounds of two metrics: seconds, and words of an element."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates

    def of_members(
        self, family: GridFamily, reduction: str | None, alone: BodyCycles | None
    ) -> Values:
        words = float(self.candidates.quick.words(family))
        return self.candidates.least_value(family, reduction, alone), words

    def of_choice(self, choice: GridChoice, *, followed: bool = False) -> Values:
        words = float(self.candidates.plan(choice).addresses.words)
        return self.candidates.bound(choice, followed=followed), words


@pytest.fixture
def candidates() -> Candidates:
    form = "vector times matrix"
    flat, einsum = grid_arch(form, 32, 4, 3), einsum_workload(form).einsums[0]
    return Candidates.of("latency", ExecutionSettings(), flat, GridMapspace(grid_of(flat), einsum))


@pytest.fixture
def heap(candidates: Candidates) -> FamilyHeap:
    families = [((f.bound, float(f.words)), f.family) for f in candidates.families]
    return FamilyHeap(candidates, LatencyAndWords(candidates), families)


def test_every_member_comes_out_with_its_greatest_bounds(
    candidates: Candidates, heap: FamilyHeap
) -> None:
    done: list[HeapEntry] = []
    refused = 0
    while heap:
        assert heap.least == min(entry.bounds for entry in heap.entries)
        entry = heap.pop()
        if entry.is_settled:
            done.append(entry)
            continue
        try:
            parts = list(heap.refined(entry))
        except (InfeasibleMapping, ProgramError):
            refused += 1
            continue
        assert all(b >= a for part in parts for a, b in zip(entry.bounds, part.bounds, strict=True))
        assert sum(map(heap.size, parts)) == heap.size(entry)
        heap.push(parts)
    members = [m for f in candidates.families for m in candidates.space.members(f.family)]
    assert {entry.choice for entry in done} <= set(members)
    assert len(done) + refused == len(members)
    for entry in done[:20]:
        assert entry.choice is not None
        assert entry.bounds[0] == candidates.bound(entry.choice, followed=True)
        assert entry.bounds[0] >= candidates.bound(entry.choice)
    assert [entry.bounds for entry in done] == sorted(entry.bounds for entry in done)


def test_a_choice_is_taken_before_families(heap: FamilyHeap) -> None:
    assert heap.pop_choice().choice is None
    family = heap.pop()
    heap.push(heap.members(family))
    taken = heap.pop_choice()
    assert taken.choice is not None
    assert taken.family == family.family
    assert not taken.is_planned
    planned = heap.planned(taken, taken.choice)
    assert planned.is_planned
    assert heap.planned(planned, taken.choice) is planned
