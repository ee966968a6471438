"""The walk of a main thread: cycles, events and dispatch terms, by hand (wse2-sdk-sim).

A descriptor operand takes cycles at dispatch, a counter 1, the back edge of a loop 9, its exit 3.
"""

import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile.table_blocks import CodeBlock
from tilewright.simulator.fast.no_certificate import NotCovered, TooManySteps
from tilewright.simulator.fast.walk.plain_code import code_of_block
from tilewright.simulator.fast.walk.script import (
    ADVANCE,
    AFTER,
    COMPLETE,
    FABRIC,
    ORIGIN,
    WAIT,
    MainThreadWalk,
    script_from,
)
from tilewright.simulator.fast.walk.walker import MOST_INSTRUCTIONS, ScriptWalker
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeOutput
from tilewright.simulator.run.machine import Machine

WORDS = 4


class Single:
    """A program of one element that sends on color x to the edge."""

    def __init__(self) -> None:
        self.builder = ProgramBuilder("single", 1, 1)
        self.builder.color("x")
        self.code: CodeBuilder = self.builder.code("only")
        self.code.buffer("v", "f32", WORDS)
        self.code.mem1d("all", "v", WORDS)
        self.code.output_queue(3, "x")
        self.code.fabout("out", 3, WORDS)

    def block(self) -> CodeBlock:
        self.builder.place("only", Area(0, 0))
        self.builder.route("x", Area(0, 0), rx="R", tx="E")
        self.builder.edge_output(EdgeOutput("east", "E", 0, 1, "x", "f32", WORDS))
        machine = Machine(self.builder.build(), load_profile("wse2-sdk-sim"))
        return machine.compiled.tables.blocks[0]

    def walk(self, most: int = MOST_INSTRUCTIONS) -> MainThreadWalk:
        block = self.block()
        return ScriptWalker(code_of_block(block), block.layout, most).walk()


def test_one_operation() -> None:
    program = Single()
    program.code.task("main", entry=True).op("fmovs", "out", "all")
    walk = program.walk()
    (op,) = walk.ops
    assert walk.events == ((ADVANCE, 5, 0), (FABRIC, 0, 0))
    assert op.terms == ((ORIGIN, 0, 5),)
    assert op.queues == ((11, 0),)  # output queue 3 is slot 8 + 3
    assert walk.words[11] == op.extent == WORDS
    assert walk.runs == (WORDS,)


def test_a_loop_is_unrolled_with_its_cycles() -> None:
    """Counter 1, dispatch 5; the second turn comes after the back edge of 9 and dispatch 5."""
    program = Single()
    task = program.code.task("main", entry=True)
    with task.loop("i", 2):
        task.op("fmovs", "out", "all")
    first, second = program.walk().ops
    assert first.terms == ((ORIGIN, 0, 1 + 5),)
    assert second.terms == ((AFTER, 0, 9 + 5),)
    assert second.queues == ((11, WORDS),)


def test_a_loop_over_memory_is_one_number() -> None:
    program = Single()
    task = program.code.task("main", entry=True)
    with task.loop("i", 10):
        task.op("fadds", "all", "all", "all")
    walk = program.walk()
    assert walk.ops == ()
    assert len(walk.events) == 1
    assert walk.runs == (10 * WORDS,)


def test_a_task_waits_for_the_end_that_activates_it() -> None:
    program = Single()
    main = program.code.task("main", entry=True)
    main.start("fmovs", "out", "all", activate="after")
    program.code.task("after").op("fmovs", "out", "all")
    walk = program.walk()
    first, second = walk.ops
    assert (WAIT, 0, 0) in walk.events
    assert first.asynchronous
    assert not second.asynchronous
    assert (COMPLETE, 0, 5) in second.terms
    assert second.exclusive == (0,)  # the same queue
    assert walk.tasks == (0, 1)


def test_the_order_of_tasks_must_not_depend_on_time() -> None:
    program = Single()
    main = program.code.task("main", entry=True)
    main.start("fmovs", "out", "all", activate="after")
    main.activate("next")
    program.code.task("after")
    program.code.task("next")
    with pytest.raises(NotCovered, match="order of the tasks depends on time"):
        program.walk()


def test_a_walk_ends_at_its_limit() -> None:
    program = Single()
    task = program.code.task("main", entry=True)
    with task.loop("i", 2):
        task.op("fmovs", "out", "all")
    with pytest.raises(TooManySteps):
        program.walk(most=3)


def test_a_microthread_shares_no_memory_with_work_beside_it() -> None:
    program = Single()
    main = program.code.task("main", entry=True)
    main.start("fmovs", "out", "all")
    main.op("fadds", "all", "all", "all")
    with pytest.raises(NotCovered, match="shares memory"):
        program.walk()


def test_tables_of_a_script() -> None:
    program = Single()
    task = program.code.task("main", entry=True)
    with task.loop("i", 2):
        task.op("fmovs", "out", "all")
    script = script_from(program.walk())
    assert script.size == 2
    assert script.tables.start.tolist() == [[0, 1, 0, 1], [1, 1, 1, 0]]
    assert script.tables.term.tolist() == [[ORIGIN, 0, 6], [AFTER, 0, 14]]
    assert script.tables.follower.tolist() == [1]
    assert script.tables.slot.tolist() == [[11, 2 * WORDS, 0, 2]]
    assert script.tables.passing.tolist() == [[0, 0], [1, WORDS]]
    assert not script.overlaps
