"""One element, cycle by cycle, by hand: instructions, tasks, and turns of the datapath."""

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeOutput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import BUSY, IDLE, RunResult

WSE2 = load_profile("wse2-sdk-sim")


def single() -> tuple[ProgramBuilder, CodeBuilder]:
    b = ProgramBuilder("single", 1, 1)
    return b, b.code("only")


def run(b: ProgramBuilder) -> RunResult:
    b.place("only", Area(0, 0))
    return Machine(b.build(), WSE2).run(timeline=True)


def test_counters_and_a_loop() -> None:
    """Set 1, counter of the loop 1, three adds of 1, two back edges of 9, exit 1; 1 to execute."""
    b, code = single()
    task = code.task("main", entry=True)
    task.set("k", 4)
    with task.loop("i", 3):
        task.increment("k")
    result = run(b)
    main_thread = 1 + 1 + 3 * 1 + 2 * 9 + 1
    assert result.cycles == main_thread + 1
    assert result.trace.element_cycles[0, 0, BUSY] == main_thread
    assert result.trace.element_cycles[0, 0, IDLE] == 1


def test_the_runnable_task_with_the_lowest_number_goes_first() -> None:
    b, code = single()
    main = code.task("main", entry=True)
    main.activate("late")
    main.activate("early")
    code.task("early").set("k", 1)
    code.task("late").set("k", 2)
    names = [event.task for event in run(b).trace.timeline]
    assert names == ["main", "early", "late"]


def test_a_blocked_task_runs_when_it_is_unblocked() -> None:
    b, code = single()
    main = code.task("main", entry=True)
    main.activate("other")
    main.activate("last")
    code.task("other", blocked=True).set("k", 1)
    code.task("last").unblock("other")
    names = [event.task for event in run(b).trace.timeline]
    assert names == ["main", "last", "other"]


def test_two_microthreads_take_turns_at_the_datapath() -> None:
    """The second is dispatched six cycles after the first (issue 1, two descriptors 5).

    The first sends a word in the cycle of its issue, none while the main thread loads; then both
    alternate, so a word leaves in every cycle.
    """
    words = 8
    b, code = single()
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    main = code.task("main", entry=True)
    for queue, (color, side) in enumerate((("x", "E"), ("y", "W")), 2):
        b.color(color)
        b.route(color, Area(0, 0), rx="R", tx=side)
        b.edge_output(EdgeOutput(color, side, 0, 1, color, "f32", words))
        code.output_queue(queue, color)
        code.fabout(f"out_{color}", queue, words)
        main.start("fmovs", f"out_{color}", "all")
    result = run(b)
    first = 5 + 4  # dispatch, then from the datapath to the edge
    x, y = (result.edges[name].cycles[0] - first for name in "xy")
    assert x.tolist() == [0, 7, 9, 11, 13, 15, 17, 19]
    assert y.tolist() == [6, 8, 10, 12, 14, 16, 18, 20]
