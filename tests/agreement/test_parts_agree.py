"""A program of several parts: some by the fast engine, some by the reference, one result.

The results are those of the reference engine that runs the whole program, bit by bit.
"""

from __future__ import annotations

import numpy as np
import pytest
from composed import compose
from engines import differences, duplex, fair_changes, pipeline
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_programs import Case, broadcast, chain, contention, random_case, random_changes
from special_programs import gather, special_case

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, TilewrightError
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

GENERIC = load_profile("generic")
SEEDS = st.integers(0, 2**32 - 1)
MAKERS = (pipeline, random_case, duplex, special_case)


def composed(seed: int) -> Case:
    """Two to five programs of any kind side by side."""
    rng = np.random.default_rng(seed)
    makers = [MAKERS[int(n)] for n in rng.integers(0, len(MAKERS), rng.integers(2, 6))]
    return compose([make(int(rng.integers(1 << 30))) for make in makers])


def check(case: Case, profile: Profile) -> FastMachine:
    machine = FastMachine(case.program, profile)
    found = machine.run(memory=case.memory, edges=case.edges, timeline=True)
    reference = Machine(case.program, profile)
    expected = reference.run(memory=case.memory, edges=case.edges, timeline=True)
    assert differences(found.result, expected) == []
    return machine


@settings(max_examples=10, deadline=None)
@given(SEEDS, SEEDS, st.booleans())
def test_independent_programs(seed: int, profile_seed: int, fair: bool) -> None:
    """A program in which the engines differ has a test of its own below."""
    changes = fair_changes(profile_seed) if fair else random_changes(profile_seed)
    check(composed(seed), GENERIC.with_values(changes))


def test_a_program_whose_cycle_states_differed() -> None:
    check(composed(1579710), GENERIC.with_values(fair_changes(13872)))


@pytest.mark.nightly
@settings(max_examples=1500, deadline=None)
@given(SEEDS, SEEDS, st.booleans())
def test_independent_programs_at_night(seed: int, profile_seed: int, fair: bool) -> None:
    changes = fair_changes(profile_seed) if fair else random_changes(profile_seed)
    check(composed(seed), GENERIC.with_values(changes))


def test_the_parts_say_why() -> None:
    case = compose([chain(1, 4, 20, "f32"), gather(2, 3, 5), broadcast(3, 1, 2, 9)])
    machine = check(case, GENERIC)
    assert not machine.certificate.granted
    assert machine.cycles is None
    working = [part for part in machine.parts() if part.elements > 1]
    assert [part.granted for part in working] == [True, False, True]
    assert [bool(part.reason) for part in working] == [False, True, False]
    assert machine.certificate.reason == working[1].reason
    refused = sum(part.elements for part in machine.parts() if not part.granted)
    assert machine.certificate.elements == case.program.placement.size - refused
    assert "fast for" in machine.run(memory=case.memory, edges=case.edges).engine


def test_copies_of_a_refused_program_are_all_refused() -> None:
    case = compose([contention(seed, 3, 8, 2) for seed in range(3)])
    machine = check(case, GENERIC)
    busy = [part for part in machine.parts() if not part.granted]
    assert [part.elements for part in busy] == [1, 1, 1]
    assert {part.reason for part in busy} == {"two threads of an element want the datapath at once"}


def stuck(words: int) -> Case:
    """A receiver that wants one word more than is sent."""
    b = ProgramBuilder("stuck", 1, 2)
    color = b.color("c")
    sender, receiver = b.code("sender"), b.code("receiver")
    for code, extent in ((sender, words), (receiver, words + 1)):
        code.buffer("v", "f32", extent)
        code.mem1d("all", "v", extent)
    sender.output_queue(2, color)
    sender.fabout("out", 2, words)
    sender.task("main", entry=True).op("fmovs", "out", "all")
    receiver.input_queue(2, color)
    receiver.fabin("in", 2, words + 1)
    receiver.task("main", entry=True).op("fmovs", "all", "in")
    b.place("sender", Area(0, 0))
    b.place("receiver", Area(0, 1))
    b.route(color, Area(0, 0), rx="R", tx="E")
    b.route(color, Area(0, 1), rx="W", tx="R")
    return Case(b.build(), {}, {})


def message(run: FastMachine | Machine, case: Case) -> tuple[type[Exception], str]:
    with pytest.raises(TilewrightError) as caught:
        run.run(memory=case.memory, edges=case.edges)
    return caught.type, str(caught.value)


@pytest.mark.parametrize("long", [1, 5000])
def test_a_deadlock_of_a_part_is_that_of_the_program(long: int) -> None:
    """Also where the parts with a certificate go on for longer than the one that is stuck."""
    case = compose([chain(1, 3, long, "f32"), stuck(5), stuck(60)])
    machine = FastMachine(case.program, GENERIC)
    assert machine.certificate.elements > 0
    found = message(machine, case)
    assert found == message(Machine(case.program, GENERIC), case)
    assert found[0] is DeadlockError


def leaving(after: int) -> Case:
    """An element that leaves its buffer after some work."""
    b = ProgramBuilder("leaving", 1, 1)
    code = b.code("main")
    code.buffer("v", "f32", 4)
    code.mem1d("two", "v", 2)
    task = code.task("main", entry=True)
    with task.loop("k", after):
        task.op("fnegs", "two", "two")
    task.set("n", 3)
    task.op("fnegs", Ref("two").at(variable("n")), "two")
    b.place("main", Area(0, 0))
    return Case(b.build(), {}, {})


@pytest.mark.parametrize("turns", [(3, 40), (40, 3), (7, 7)])
def test_the_first_error_in_time_is_told(turns: tuple[int, int]) -> None:
    """Whether the part that leaves its buffer first has a certificate or not."""
    late = compose([gather(2, 3, 5), *(leaving(after) for after in turns), stuck(4)])
    machine = FastMachine(late.program, GENERIC)
    assert machine.certificate.elements > 0
    found = message(machine, late)
    assert found == message(Machine(late.program, GENERIC), late)
    assert found[0] is MachineError
