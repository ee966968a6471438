"""Cycles of a body of instructions: in all, and behind the last operation of a label."""

import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import Area, ProgramBuilder
from tilewright.simulator.isa.dsd import Element, Ref, Register
from tilewright.simulator.isa.index_expression import Index, variable
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles, TaskCycles
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine

PROFILE = load_profile("wse2-sdk-sim")


def cycles(turns: int) -> BodyCycles:
    """Turns of a loop that each receive 8 words and add 32 values."""
    code = CodeBuilder("work")
    code.buffer("tile", "f32", 32)
    code.mem1d("all", "tile", extent=32)
    code.mem1d("some", "tile", extent=8)
    code.input_queue(0, "words")
    code.fabin("come", 0, 8)
    task = code.task("work", entry=True)
    with task.loop("turn", turns):
        task.op("fmovs", "some", "come", label="receive")
        task.op("fadds", "all", "all", "all", label="compute")
    built = code.build()
    return TaskCycles(built, PROFILE).of("work", built.tasks[0].body)


@pytest.mark.parametrize("turns", [2, 16])
def test_earlier_turns_are_not_behind_the_last_operation(turns: int) -> None:
    """Behind the last receive stand one addition and the branch out of the loop."""
    result = cycles(turns)
    assert result.since == cycles(1).since
    assert result.since["compute"] == PROFILE.branch_not_taken_cycles
    each = cycles(turns + 1).total - result.total
    assert each == cycles(2).total - cycles(1).total > PROFILE.loop_back_edge_cycles


def walk(first: int, turns: int) -> BodyCycles:
    """Turns that receive 8 words and add two lines, of which one goes on by 2 words in each turn.

    first: place of that line in the first turn, in words.
    """
    code = CodeBuilder("work")
    code.buffer("sums", "f16", 64, 0)
    code.buffer("table", "f16", 256, 1024)
    for name, buffer in (("sum", "sums"), ("line", "table")):
        code.mem1d(name, buffer, extent=32)
    code.input_queue(0, "words")
    code.fabin("come", 0, 8)
    code.mem1d("some", "sums", extent=8)
    task = code.task("work", entry=True)
    with task.loop("turn", turns) as turn:
        task.op("fmovh", "some", "come", label="receive")
        with task.loop("line", 3) as line:
            place = Ref("line").at(2 * turn + first + 8 * line)
            task.op("faddh", "sum", "sum", place, label="compute")
    built = code.build()
    return TaskCycles(built, PROFILE).of("work", built.tasks[0].body)


@pytest.mark.parametrize("turns", [2, 3, 4])
@pytest.mark.parametrize("first", range(0, 8, 2))
def test_bank_conflicts_behind_a_receive_are_those_of_the_last_turn(first: int, turns: int) -> None:
    """The sum of all turns is exact; what stands behind a receive is not their mean."""
    found, each = walk(first, turns), [walk(first + 2 * turn, 1) for turn in range(turns)]
    assert found.since["receive"] == each[-1].since["receive"]
    back_edges = (turns - 1) * PROFILE.loop_back_edge_cycles
    assert found.until["receive"] == each[0].until["receive"] + back_edges
    loops = (turns - 1) * (PROFILE.counter_cycles + PROFILE.branch_not_taken_cycles)
    assert found.total == pytest.approx(sum(turn.total for turn in each) - loops + back_edges)


def test_turns_differ_in_bank_conflicts() -> None:
    assert len({walk(first, 1).since["receive"] for first in range(0, 8, 2)}) > 1


def columns_added(dtype: str, apart: int) -> Program:
    """The sum of columns of 46 values, each times a value: in a loop, and in a map that walks.

    `apart`: words between the place of the sum and a multiple of the banks.
    """
    builder = ProgramBuilder("columns", 1, 1)
    code = builder.code("only")
    code.buffer("table", dtype, (8, 46), 0)
    code.buffer("factors", dtype, 5, 2048)
    code.buffer("sum", dtype, (3, 46), 4096 + apart)
    for name in ("table", "sum"):
        code.mem1d(f"{name}_line", name, extent=46)
    code.mem1d("all", "factors", extent=5)
    letter = {"f16": "h", "f32": "s"}[dtype]
    task = code.task("work", entry=True)
    with task.loop("line", 3) as line:
        place = Ref("sum_line").at(46 * line)
        with task.loop("column", 5) as column:
            task.op(f"fmac{letter}", place, place, Ref("table_line").at(46 * column), 2.0)
        loads = [place, place, Ref("table_line").at(46 * line)]
        registers = [Register(file, 1) for file in ("dest", "src0", "src1")]
        for register, operand in zip(registers, loads, strict=True):
            task.load(register, operand, save_address=register.file == "src1")
        with task.map(("value", "all")):
            task.op(f"fmac{letter}", *registers, variable("value"))
    builder.place("only", Area(0, 0))
    return builder.build()


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_reads_that_meet_on_a_bank_count_as_on_the_machine(dtype: str) -> None:
    """Columns of 46 values lie in other banks at each turn; all other cycles are constant."""
    others = set()
    counted = []
    for apart in range(0, 8, 2):
        program = columns_added(dtype, apart)
        code = program.codes[0]
        total = TaskCycles(code, PROFILE).of("work", code.tasks[0].body).total
        others.add(Machine(program, PROFILE).run().cycles - total)
        counted.append(total)
    assert len(others) == 1
    assert len(set(counted)) > 1


def mapped(inputs: int, turns: int) -> Program:
    """A map over some vectors whose values, one of them a scalar in memory, are multiplied."""
    builder = ProgramBuilder("products", 1, 1)
    code = builder.code("only")
    for name in ("a", "b", "c", "sum"):
        code.buffer(name, "f32", 20)
        code.mem1d(f"all_{name}", name, extent=turns)
    task = code.task("work", entry=True)
    task.compute("factor", "mov", Element("a", Index(3)), dtype="f32")
    vectors = [(name, f"all_{name}") for name in "abc"[:inputs]]
    with task.map(*vectors, output=("after", "all_sum")):
        for name, _ in vectors:
            task.compute("factor", "mul", "factor", name, dtype="f32")
        task.compute("after", "mov", "factor", dtype="f32")
    builder.place("only", Area(0, 0))
    return builder.build()


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_a_map_takes_the_cycles_of_the_machine(inputs: int) -> None:
    """But for the start of the run; each turn has a read, the body and a write."""
    starts = set()
    for turns in (4, 17):
        program = mapped(inputs, turns)
        code = program.codes[0]
        total = TaskCycles(code, PROFILE).of("work", code.tasks[0].body).total
        starts.add(Machine(program, PROFILE).cycles() - total)
    assert len(starts) == 1
    assert abs(starts.pop()) < 20
