"""Queues that change their color, tasks that follow their emptying, blocked microthreads."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

WSE3 = load_profile("wse3-sdk-sim")
N = 24
V = np.arange(N, dtype=np.uint32) + 3


def checked(b: ProgramBuilder) -> Program:
    program = b.build()
    assert parse_program(print_program(program)) == program
    return program


def sender(*, flush: bool, waits: int = 0) -> ProgramBuilder:
    """One output queue sends on color x, then on y; the border takes a word in some cycles."""
    b = ProgramBuilder("sender", 1, 1)
    for color in "xy":
        b.color(color)
    code = b.code("main")
    code.buffer("v", "u32", N)
    code.mem1d("all", "v", N)
    code.output_queue(3, "x")
    code.fabout("out", 3, N)
    main = code.task("main", entry=True)
    main.op("mov32", "out", "all")
    next_ = code.task("next", empty_output=3)
    if flush:
        main.flush_output(3)
    else:
        if waits:
            with main.loop("wait", waits):
                main.increment("idle")
        main.activate("next")
    next_.bind_output(3, "y")
    next_.op("mov32", "out", "all")
    b.place("main", Area(0, 0))
    for color, port in (("x", "E"), ("y", "W")):
        b.route(color, Area(0, 0), rx="R", tx=port)
        b.edge_output(EdgeOutput(color, port, 0, 1, color, "u32", N))
    return b


@pytest.mark.row("000.92")
@pytest.mark.parametrize("shuffle", [0, 3])
def test_an_output_queue_gets_another_color_once_it_is_empty(shuffle: int) -> None:
    program = checked(sender(flush=True))
    machine = Machine(program, WSE3, queues=bool(shuffle))
    result = machine.run(memory={"v": V[None, None]}, shuffle=shuffle)
    for color in "xy":
        assert result.edges[color].values.tolist() == [V.tolist()]
    assert int(result.edges["y"].cycles.min()) > int(result.edges["x"].cycles.max())
    assert result.counts.ramp_out_words == 2 * N
    assert not FastMachine(program, load_profile("generic")).certificate.granted


def test_a_queue_that_is_used_again_with_words_inside() -> None:
    with pytest.raises(MachineError) as caught:
        Machine(checked(sender(flush=False)), WSE3).run()
    assert str(caught.value).splitlines()[0] == (
        "cycle 33, element (0, 0), code main, task next, bind_output 3 y: output queue 3 gets "
        "another color, but 1 word of color x is inside"
    )


def test_who_waits_long_enough_needs_no_flush() -> None:
    program = checked(sender(flush=False, waits=9))
    result = Machine(program, load_profile("wse2-sdk-sim")).run(memory={"v": V[None, None]})
    assert result.edges["y"].values.tolist() == [V.tolist()]
    with pytest.raises(ProgramError, match="wse2-sdk-sim has no flush"):
        Machine(sender(flush=True).build(), load_profile("wse2-sdk-sim"))


def receiver(*, second: str = "y", busy: bool = False) -> ProgramBuilder:
    """One input queue takes color x, then y, whose words wait at the router till then."""
    b = ProgramBuilder("receiver", 1, 1)
    for color in "xy":
        b.color(color)
    code = b.code("main")
    code.buffer("got", "u32", 2 * N)
    code.mem1d("first", "got", N)
    code.mem1d("second", "got", N, offset=N)
    code.input_queue(2, "x")
    code.fabin("in", 2, N)
    main, next_ = code.task("main", entry=True), code.task("next", empty_input=2)
    if busy:
        main.start("mov32", "first", "in")
        main.bind_input(2, second)
    else:
        main.op("mov32", "first", "in")
        main.flush_input(2)
    next_.bind_input(2, second)
    next_.op("mov32", "second", "in")
    b.place("main", Area(0, 0))
    for color in "xy":
        b.route(color, Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("x", "N", 0, 1, "x", "u32", N, interval=3, start=30))
    b.edge_input(EdgeInput("y", "N", 0, 1, "y", "u32", N))
    return b


@pytest.mark.parametrize("shuffle", [0, 3])
def test_an_input_queue_gets_another_color(shuffle: int) -> None:
    machine = Machine(checked(receiver()), WSE3)
    edges = {"x": V[None], "y": V[None] + 100}
    result = machine.run(edges=edges, shuffle=shuffle)
    assert result.memory["got"].ravel().tolist() == [*V, *(V + 100)]
    assert result.counts.ramp_in_words == 2 * N


def test_words_of_a_color_without_a_queue_wait_at_the_router() -> None:
    b = receiver(second="x")
    later = b._codes[0]._tasks[1][0]
    later.set("never", 1)
    with later.when_below("never", 1):
        later.bind_input(2, "y")
    b._edge_inputs[0] = b._edge_inputs[0].__class__("x", "N", 0, 1, "x", "u32", 2 * N)
    with pytest.raises(DeadlockError) as caught:
        Machine(checked(b), WSE3).run(edges={"x": np.ones((1, 2 * N)), "y": V[None]})
    router = "7 words stand in the router of element (0, 0), color y"
    assert f"{router}: no queue of element (0, 0) is bound to its color" in caught.value.waits


def test_a_queue_in_use_keeps_its_color() -> None:
    with pytest.raises(MachineError, match="input queue 2 gets another color, but an operation"):
        Machine(checked(receiver(busy=True)), WSE3).run(edges={"x": V[None], "y": V[None]})


def test_refused() -> None:
    def broken(change: str) -> ProgramBuilder:
        b = sender(flush=True)
        code: CodeBuilder = b._codes[0]
        task = code._tasks[0][0]
        if change == "twice":
            code.task("other", empty_output=3)
        elif change == "data":
            code.input_queue(2, "x")
            code._tasks.append((code.data_task("d", 2), {"queue": 2, "empty_output": 2}))
            del code._tasks[-2]
        elif change == "unbound":
            task.bind_output(4, "x")
        elif change == "color":
            task.bind_output(3, "z")
        elif change == "handler":
            code.output_queue(4, "y")
            task.flush_output(4)
        elif change == "unused":
            code.output_queue(5, "y")
            task.bind_output(5, "x")
        else:
            code.input_queue(2, "x")
            code.input_queue(4, "y")
            task.bind_input(4, "x")
        return b

    for change, text in {
        "twice": "code main: two tasks follow the emptying of output queue 3",
        "data": "code main, task d: only a local task follows a queue's emptying",
        "unbound": "code main, task main: output queue 4 is not bound to a color",
        "color": "code main, task main: unknown color",
        "handler": "code main, task main: no task follows the emptying of output queue 4",
        "unused": "code main: queue 5 is bound to color y, but no operation uses it",
        "two queues": "code main: color x is bound to input queue 2 and later to input queue 4",
    }.items():
        with pytest.raises(ProgramError) as caught:
            Machine(broken(change).build(), WSE3)
        assert str(caught.value).startswith(text), change


def threads(*, unblock: bool, before: bool) -> ProgramBuilder:
    """Two microthreads send; one is blocked before or after its start, and later unblocked."""
    b = ProgramBuilder("threads", 1, 1)
    for color in "xy":
        b.color(color)
    code = b.code("main")
    code.buffer("v", "u32", N)
    code.mem1d("all", "v", N)
    main = code.task("main", entry=True)
    if before:
        main.block_microthread(5)
    for queue, color, thread in ((3, "x", 5), (4, "y", 6)):
        code.output_queue(queue, color)
        code.fabout(f"out_{color}", queue, N)
        main.start("mov32", f"out_{color}", "all", microthread=thread, activate=f"done_{color}")
    if not before:
        main.block_microthread(5)
    code.task("done_x")
    done = code.task("done_y")
    if unblock:
        done.unblock_microthread(5)
    b.place("main", Area(0, 0))
    for color, port in (("x", "E"), ("y", "W")):
        b.route(color, Area(0, 0), rx="R", tx=port)
        b.edge_output(EdgeOutput(color, port, 0, 1, color, "u32", N))
    return b


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("shuffle", [0, 3])
def test_a_blocked_microthread_waits(before: bool, shuffle: int) -> None:
    machine = Machine(checked(threads(unblock=True, before=before)), WSE3)
    result = machine.run(memory={"v": V[None, None]}, shuffle=shuffle)
    x, y = (result.edges[color].cycles[0] for color in "xy")
    assert result.edges["x"].values.tolist() == result.edges["y"].values.tolist() == [V.tolist()]
    held = x if before else x[x > y.min()]
    assert held.size > N // 2
    assert int(held.min()) > int(y.max())
    assert (np.diff(y)[1:] == 1).all()  # alone, but for an instruction behind its issue


@pytest.mark.parametrize("before", [True, False])
def test_a_microthread_that_stays_blocked_is_named(before: bool) -> None:
    with pytest.raises(DeadlockError) as caught:
        Machine(checked(threads(unblock=False, before=before)), WSE3).run()
    assert any("its microthread is blocked" in line for line in caught.value.waits)
    with pytest.raises(ProgramError, match="wse2-sdk-sim"):
        Machine(threads(unblock=True, before=before).build(), load_profile("wse2-sdk-sim"))
    b = threads(unblock=True, before=before)
    b._codes[0]._tasks[0][0].block_microthread(8)
    with pytest.raises(ProgramError, match="no such microthread"):
        Machine(b.build(), WSE3)
