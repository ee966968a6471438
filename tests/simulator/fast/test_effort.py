"""The search for times that is worth its while: what it refuses at once, and what it allows."""

import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.fast.attempts import settled
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.fast.graph_tables import build_graph
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import scripts_of
from tilewright.simulator.fast.time_budget import WITHOUT_LIMIT, WORTHWHILE, Effort, Size
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")


def sharing(words: int, times: int) -> Program:
    """Two elements send on two colors over the link to a third one."""
    b = ProgramBuilder("sharing", 1, 3)
    for column, color in enumerate("xy"):
        b.color(color)
        code = b.code(f"send_{color}")
        code.buffer("v", "f32", words)
        code.mem1d("all", "v", words)
        code.output_queue(2, color)
        code.fabout("out", 2, words)
        task = code.task("main", entry=True)
        for _ in range(times):
            task.op("fmovs", "out", "all")
        b.place(f"send_{color}", Area(0, column))
        b.route(color, Area(0, column), rx="R", tx="E")
        b.route(color, Area(0, 2), rx="W", tx="R")
    b.route("x", Area(0, 1), rx="W", tx="E")
    code = b.code("receive")
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    task = code.task("main", entry=True)
    for queue, color in enumerate("xy"):
        code.input_queue(queue, color)
        code.fabin(f"in_{color}", queue, words)
    for color in "xy" * times:
        task.op("fmovs", "all", f"in_{color}")
    b.place("receive", Area(0, 2))
    return b.build()


def test_a_long_regular_program_has_its_times() -> None:
    program = gemv_like(8, 8, 2000, 4)
    found = FastMachine(program, WSE2, WORTHWHILE)
    assert found.certificate.granted
    assert found.cycles == FastMachine(program, WSE2).cycles


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (gemv_like(4, 4, 16, 1), "a short program"),
        (sharing(8000, 3), "two colors want a link at once"),
    ],
)
def test_what_is_no_use_is_refused_as_a_whole(program: Program, reason: str) -> None:
    found = FastMachine(program, WSE2, WORTHWHILE)
    assert not found.certificate.granted
    assert found.certificate.reason == reason
    assert [part.granted for part in found.parts()] == [False]


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (Size(elements=64, units=10, words=1_000), "a short program"),
        (Size(elements=64, units=100_000, words=600_000), "messages of a few words"),
        (Size(elements=64, units=2_000_000, words=20_000_000), "messages of a few words"),
    ],
)
def test_sizes_that_are_no_use(size: Size, reason: str) -> None:
    with pytest.raises(NotCovered, match=reason):
        WORTHWHILE.effort(size)


def test_effort_grows_with_the_run() -> None:
    some, more = (WORTHWHILE.effort(Size(64, 100, n)).left for n in (100_000, 1_000_000))
    assert 0 < some < more < WITHOUT_LIMIT.effort(Size(64, 100, 100_000)).left


def test_the_solver_ends_when_the_effort_is_spent() -> None:
    machine = Machine(gemv_like(4, 4, 64, 1), WSE2)
    division = Division(machine.compiled.network)
    scripts = scripts_of(machine, division, WITHOUT_LIMIT.steps)
    graph, _ = build_graph(machine.program, machine.compiled.network, scripts, division)
    enough = Effort()
    settled(graph, (1, 1), enough)
    needed = Effort().left - enough.left
    settled(graph, (1, 1), Effort(needed))
    with pytest.raises(NotCovered, match="cost more than running"):
        settled(graph, (1, 1), Effort(needed // 2))


def test_long_walks_are_refused() -> None:
    machine = Machine(gemv_like(4, 4, 64, 1), WSE2)
    division = Division(machine.compiled.network)
    scripts_of(machine, division, 3)
    assert division.reason == "a code runs too many instructions"
