"""What an option keeps of its mappings: those that none beats, by values and bounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridMapspace
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.isa.machine_errors import RunStoppedError
from tilewright.simulator.run.machine import Stop
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.fronts.front_boxes import unbeaten
from tilewright.simulator.search.fronts.option_front import OptionFront
from tilewright.simulator.search.grid_certificate import Costs, PricedTime

ALL = 1 << 60


def option_front(form: str) -> OptionFront:
    flat, einsum = grid_arch(form, 32, 2, 2), einsum_workload(form).einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    candidates = Candidates.unbounded("latency", ExecutionSettings(), flat, space)
    candidates = replace(candidates, counts_energy=True).bounded()
    return OptionFront(candidates, [(family, family.words) for family in candidates.families])


def open_items(front: OptionFront, words: int = ALL) -> list[int]:
    return [int(n) for n in front.unbeaten(words) if not front.items[n].is_exact]


def run_all(front: OptionFront, words: int = ALL) -> None:
    while items := open_items(front, words):
        if not front.refine(items[0]):
            front.run(items[0], 1.0, never_over)


def all_costs(candidates: Candidates) -> list[Costs]:
    """What all mappings of all families cost where the machine can run them."""
    costs = []
    for bounded in candidates.families:
        for choice, _ in candidates.members(bounded.family):
            try:
                cycles = candidates.exact_cycles(choice, never, never_over)
            except InfeasibleMapping:
                continue
            costs.append(candidates.run_costs(choice, cycles))
    return costs


@pytest.mark.parametrize("form", ["matrix times vector", "largest of rows", "elementwise sum"])
def test_what_is_left_is_the_front_of_all_mappings(form: str) -> None:
    front = option_front(form)
    run_all(front)
    found = [Costs(*row) for row in front.costs(front.unbeaten(ALL)).tolist()]
    every = all_costs(option_front(form).candidates)
    assert unbeaten(found) == unbeaten(every)
    assert front.executed <= len(every)
    assert front.open_choices + front.executed >= len(every)


def test_no_bound_is_above_what_replaces_it() -> None:
    front = option_front("matrix times vector")
    objectives = ("latency", "energy", PricedTime(0.01))
    least = [front.least(objective) for objective in objectives]
    for _ in range(60):
        items = open_items(front)
        if not items:
            break
        if not front.refine(items[-1]):
            front.run(items[-1], 1.0, never_over)
        closer = [front.least(objective) for objective in objectives]
        assert all(a <= b * (1 + 1e-9) for a, b in zip(least, closer, strict=True))
        least = closer


def test_small_memories_hold_some_mappings_only() -> None:
    front = option_front("matrix times vector")
    sizes = sorted({item.words for item in front.items})
    few, many = front.unbeaten(sizes[0]), front.unbeaten(sizes[-1])
    assert {front.items[n].words for n in few} == {sizes[0]}
    assert front.unbeaten(sizes[0] - 1).size == 0
    best = {Costs(*row) for row in front.costs(many).tolist()}
    for row in front.costs(few).tolist():
        assert any(p.latency <= row[0] and p.energy <= row[1] for p in best)
    run_all(front, sizes[0])
    assert all(front.items[n].words == sizes[0] for n in front.unbeaten(sizes[0]))


def test_a_run_that_takes_too_long_has_a_bound_above_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ends where it is known to; a longer limit, or the whole run, comes later."""
    front = option_front("matrix times vector")
    candidates = front.candidates
    while front.refine(open_items(front)[0]):
        pass
    (number, *_) = open_items(front)
    choice, bounds = front.items[number].entry.choice, front.items[number].entry.bounds
    assert choice is not None
    exact = candidates.run_costs(choice, candidates.exact_cycles(choice, never, never_over))
    monkeypatch.setattr(Candidates, "simulated_cycles", stopping)
    most = (bounds[0] + exact.latency) / 2
    for limit in (most, bounds[0] / 2):
        before = len(front.items)
        front.run(number, limit, never_over)
        (stopped,) = front.items[before:]
        number = before
        assert not stopped.is_exact
        assert most < stopped.entry.bounds[0] <= exact.latency
        assert bounds[1] < stopped.entry.bounds[1] <= exact.energy
    assert front.executed == 0
    monkeypatch.undo()
    front.run(number, exact.latency, never_over)
    assert front.items[-1].is_exact
    assert front.items[-1].entry.bounds == exact


def stopping(_candidates: Candidates, choice: GridChoice, stop: Stop) -> int:
    """A run that asks in every cycle whether it is to end."""
    cycle = next(cycle for cycle in count(1) if stop(cycle))
    raise RunStoppedError("stopped", value=f"{choice} in cycle {cycle}")


def never(_cycles: int) -> bool:
    return False


def never_over() -> bool:
    return False


def test_of_equal_items_the_one_that_ran_stays() -> None:
    front = option_front("matrix times vector")
    run_all(front)
    (number, *_) = front.unbeaten(ALL)
    exact = front.items[number]
    front._add([exact._replace(is_exact=False)])
    assert int(number) in front.unbeaten(ALL).tolist()
    assert len(front.items) - 1 not in front.unbeaten(ALL).tolist()
