"""Merged queues give what the plain network gives: every part of the result, bit by bit."""

import numpy as np
import pytest
from changing_programs import changing_case
from engines import differences, duplex, pipeline
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_programs import Case, random_case, random_changes
from special_programs import special_case

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.queue_fusion import follow_pointers, mergeable_into
from tilewright.simulator.examples.known_costs import chain_reduce, relay, two_phase_reduce
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

SEEDS = st.integers(0, 2**32 - 1)
GENERIC = load_profile("generic")


def both(case: Case, changes: dict[str, object], shuffle: int = 0) -> None:
    profile = GENERIC.with_values(changes)
    given = {"memory": case.memory, "edges": case.edges, "timeline": True}
    plain = Machine(case.program, profile, fuse=False).run(**given)
    merged = Machine(case.program, profile).run(**given, shuffle=shuffle)
    assert differences(merged, plain) == []


@settings(max_examples=20, deadline=None)
@given(SEEDS, SEEDS, st.integers(0, 2**30))
def test_chains_broadcasts_contention(seed: int, profile_seed: int, shuffle: int) -> None:
    both(random_case(seed), random_changes(profile_seed), shuffle)


@settings(max_examples=12, deadline=None)
@given(SEEDS, SEEDS)
def test_pipelines_and_threads_side_by_side(seed: int, profile_seed: int) -> None:
    both(pipeline(seed), random_changes(profile_seed))
    both(duplex(seed), random_changes(profile_seed))


@settings(max_examples=12, deadline=None)
@given(SEEDS, SEEDS, st.integers(0, 2**30))
def test_queues_threads_and_registers_that_change(
    seed: int, profile_seed: int, shuffle: int
) -> None:
    both(changing_case(seed), random_changes(profile_seed), shuffle)


@settings(max_examples=20, deadline=None)
@given(SEEDS, SEEDS, st.integers(0, 2**30))
def test_switches_fifos_and_tasks(seed: int, profile_seed: int, shuffle: int) -> None:
    both(special_case(seed), random_changes(profile_seed), shuffle)


@pytest.mark.parametrize(
    "program",
    [chain_reduce(33, 70), relay(5, 19), two_phase_reduce(24, 40, 4)],
    ids=lambda program: program.name,
)
def test_examples(program: Program) -> None:
    shape = (*program.placement.shape, program.codes[0].buffers[0].elements)
    v = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    both(Case(program, {"v": v}, {}), {})


def test_a_chain_is_one_queue_per_stage() -> None:
    machine = Machine(chain_reduce(8, 4), GENERIC)
    assert (mergeable_into(machine.compiled.network) >= 0).sum() == 7 * 3
    machine.run()
    store = machine.compiled.parts.fifo.view(machine.fused_store[0])
    assert sorted(set(store[:, at.F_CREDIT].tolist())) == [1, 4]


def test_shallow_queues_stay() -> None:
    machine = Machine(chain_reduce(8, 4), GENERIC.with_values({"router_buffer_words": 1}))
    assert (mergeable_into(machine.compiled.network) < 0).all()


def test_a_loop_has_no_end() -> None:
    assert follow_pointers(np.array([1, 2, 0]), np.zeros((1, 3), dtype=np.int64)) is None


def test_what_goes_wrong_is_told_by_the_plain_network() -> None:
    program = chain_reduce(8, 64)
    told = []
    for fuse in (True, False):
        machine = Machine(program, GENERIC, fuse=fuse)
        with pytest.raises(MachineError) as error:
            machine.run(max_cycles=20)
        told.append(str(error.value))
    assert told[0] == told[1]


def test_a_deadlock_is_told_by_the_plain_network() -> None:
    b = ProgramBuilder("short", 1, 4)
    color = b.color("c")
    for name, words in (("sender", 40), ("between", 1), ("taker", 41)):
        code = b.code(name)
        code.buffer("v", "f32", words)
        code.mem1d("all", "v", words)
        if name == "sender":
            code.output_queue(0, color)
            code.fabout("out", 0, words)
            code.task("main", entry=True).op("fmovs", "out", "all")
        elif name == "taker":
            code.input_queue(0, color)
            code.fabin("in", 0, words)
            code.task("main", entry=True).op("fmovs", "all", "in")
    b.place("sender", Area(0, 0))
    b.place("between", Area(0, 1, 1, 2))
    b.place("taker", Area(0, 3))
    b.route(color, Area(0, 0), rx="R", tx="E")
    b.route(color, Area(0, 1, 1, 2), rx="W", tx="E")
    b.route(color, Area(0, 3), rx="W", tx="R")
    told = []
    for fuse in (True, False):
        with pytest.raises(DeadlockError) as error:
            Machine(b.build(), GENERIC, fuse=fuse).run()
        told.append(str(error.value))
    assert told[0] == told[1]
    assert "(0, 3)" in told[0]
