"""Runs that leave out what repeats: their states are those of runs that leave out nothing."""

from __future__ import annotations

import numpy as np
import pytest
from explore import at_night
from grid_mappings import random_space_time
from loop_programs import loop_program
from stream_program import STREAM

from tilewright.arch.errors import TilewrightError
from tilewright.simulator.compile import columns as at
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.repetition import repeats
from tilewright.simulator.run.repetition.machine_state import Snapshot
from tilewright.simulator.run.repetition.repeatable import may_repeat
from tilewright.simulator.run.repetition.repeats import RepeatingRun
from tilewright.simulator.run.run_data import no_values, step_to_end
from tilewright.simulator.text.parsing import parse_program

STATE = tuple(Snapshot.__dataclass_fields__)


@pytest.fixture(autouse=True)
def _small_programs_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the state of programs that take only some thousand visits."""
    for name, number in (("VISITS_BETWEEN", 7), ("VISITS_BEFORE", 35), ("DISTANCE", 40)):
        monkeypatch.setattr(repeats, name, number)
    monkeypatch.setattr(repeats, "MOST_CYCLES", 160)


def zeros(program: Program) -> dict[str, np.ndarray]:
    """Return words of zeros for the ports by which words enter."""
    return {p.name: np.zeros((p.positions, p.count)) for p in program.edge_inputs}


class ComparedRun(RepeatingRun):
    """A run that is compared with one that leaves out nothing wherever it has left out some."""

    def __init__(self, of: Machine) -> None:
        compiled = of.compiled
        data = no_values(of.program, at.NO_SCALARS)
        self.whole = of._begin(of.fused_store[0], data)
        super().__init__(compiled, *of._begin(of.fused_store[0], data))
        self.jumps = 0
        self.run()
        self._compare_at(int(self.store[at.S_CYCLE]))
        assert self.store[at.S_ERROR] == at.OK
        assert not self.store[[at.S_AGENTS, at.S_LISTED, at.S_LISTED + 1]].any()

    def _leave_out(self, now: Snapshot, repetition: repeats._Repetition) -> None:
        super()._leave_out(now, repetition)
        self.jumps += 1
        self._compare_at(int(self.store[at.S_CYCLE]))

    def _compare_at(self, cycle: int) -> None:
        store, sram = self.whole
        store[at.S_LIMIT], store[at.S_ERROR] = cycle - 1, at.OK
        step_to_end(store, sram)
        here, there = self.state.snapshot(self.store), self.state.snapshot(store)
        for name in STATE:
            assert np.array_equal(getattr(here, name), getattr(there, name)), (cycle, name)


@pytest.mark.parametrize("part", [0, *at_night(1, 2, 3, 4, 5, 6, 7)])
def test_states_are_those_of_whole_runs(part: int) -> None:
    jumps = 0
    for seed in range(40 * part, 40 * (part + 1)):
        try:
            of = Machine(loop_program(seed), load_profile("wse3-sdk-sim"))
            whole = of.run(edges=zeros(of.program))
        except TilewrightError:  # an operand that leaves its buffer
            continue
        jumps += ComparedRun(of).jumps
        assert of.cycles() == whole.cycles, seed
    assert jumps > 10


def test_mappings_take_as_many_cycles_as_with_numbers() -> None:
    profile, compared = load_profile("wse3-sdk-sim"), 0
    for seed in range(100, 160):
        try:
            plan = plan_of(random_space_time(seed)[1], profile.sram_reserved_bytes)
        except TilewrightError:
            continue
        of = Machine(program_of(plan), profile)
        if may_repeat(of.compiled):
            compared += 1
            ComparedRun(of)
            assert of.cycles() == of.run(edges=zeros(of.program)).cycles, seed
    assert compared > 10


def stream() -> Program:
    return parse_program(STREAM, "stream.txt")


def test_nested_loops_leave_out_most_cycles() -> None:
    of = Machine(stream(), load_profile("wse3-sdk-sim"))
    run = ComparedRun(of)
    assert run.left_out > 0.8 * of.cycles()


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 12))])
def test_mappings_with_few_channels_take_as_many_cycles_as_with_numbers(part: int) -> None:
    jumps = 0
    for seed in range(100 + 60 * part, 160 + 60 * part):
        profile = load_profile(("wse2-sdk-sim", "wse3-sdk-sim")[seed % 2])
        try:
            read = random_space_time(seed)[1]
            plan = plan_of(read, profile.sram_reserved_bytes, channels=1 + seed % 3)
        except TilewrightError:
            continue
        of = Machine(program_of(plan), profile)
        if may_repeat(of.compiled):
            jumps += ComparedRun(of).jumps
            assert of.cycles() == of.run(edges=zeros(of.program)).cycles, seed
    assert jumps > 3


@pytest.mark.parametrize("interval", [2, 7, 23, 24, 60])
def test_slow_streams_leave_out_most_cycles(interval: int) -> None:
    text = STREAM.replace("count 8000\nedge_out", f"count 8000 interval {interval}\nedge_out")
    of = Machine(parse_program(text, "stream.txt"), load_profile("wse3-sdk-sim"))
    run = ComparedRun(of)
    assert run.jumps
    assert run.left_out > 0.5 * of.cycles()
