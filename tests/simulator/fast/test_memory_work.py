"""Work on memory: cycles of operations and loops, and the words that they touch, by hand."""

import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.walk.memory_loops import loop_runs
from tilewright.simulator.fast.walk.memory_work import (
    OperandReach,
    busy_cycles,
    have_common_word,
    map_work,
    reaches_of,
)
from tilewright.simulator.fast.walk.plain_code import CodeWords, code_of_block
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

WORDS, TURNS = 6, 3


def looped() -> tuple[CodeWords, Machine]:
    """A loop of one move from the vector b to a[i], ..., a[i + 5]."""
    b = ProgramBuilder("loop", 1, 1)
    code = b.code("only")
    code.buffer("a", "f32", WORDS + TURNS)
    code.buffer("b", "f32", WORDS)
    code.mem1d("moving", "a", WORDS)
    code.mem1d("still", "b", WORDS)
    task = code.task("main", entry=True)
    with task.loop("i", TURNS):
        task.op("fmovs", Ref("moving").at(variable("i")), "still")
    b.place("only", Area(0, 0))
    machine = Machine(b.build(), load_profile("wse2-sdk-sim"))
    return code_of_block(machine.compiled.tables.blocks[0]), machine


def first_instruction(code: CodeWords, kind: int) -> int:
    pc = code[code.task]
    while code[pc] != kind:
        pc += at.I_WIDTH
    return pc


def test_a_loop_is_one_table_of_runs() -> None:
    """Counter 1; each turn dispatch and the operation, then 9 for the back edge; 1 at the end."""
    code, machine = looped()
    loop = first_instruction(code, at.I_LOOP)
    op = code[first_instruction(code, at.I_OPERATION) + 1]
    load, busy = code[op + at.O_LOAD], busy_cycles(code, op)
    runs = loop_runs(code, loop)
    turn = load + busy + 9
    assert runs.start.tolist() == [1 + load + turn * i for i in range(TURNS)]
    end = load + busy + code.header[at.K_MEMORY_COMPLETION]
    assert runs.end.tolist() == [1 + end + turn * i for i in range(TURNS)]
    assert runs.row.tolist() == [op] * TURNS
    assert runs.cycles == 1 + TURNS * (load + busy) + (TURNS - 1) * 9 + 1
    timeline = machine.run(timeline=True).trace.timeline
    starts = [event.start for event in timeline if event.operation.startswith("fmovs")]
    assert starts == runs.start.tolist()
    assert runs.after == first_instruction(code, at.I_END_LOOP) + at.I_WIDTH


def test_operands_reach_what_their_counters_allow() -> None:
    """An f32 takes two words: `a` is at words 0 to 17, `b` behind it."""
    code, _ = looped()
    op = code[first_instruction(code, at.I_OPERATION) + 1]
    moving, still = reaches_of(code, op)
    assert (moving.written, still.written) == (True, False)
    ((slot, words),) = moving.terms
    assert words == 2
    assert moving.span({}, {}) == (0, 2 * WORDS - 1)
    assert moving.span({slot: 2}, {}) == (4, 2 * WORDS + 3)
    assert moving.span({}, {slot: (0, TURNS - 1)}) == (0, 2 * (WORDS + TURNS - 1) - 1)
    low, high = still.span({}, {})
    assert high - low + 1 == 2 * WORDS
    assert low >= 2 * (WORDS + TURNS)


def test_a_negative_step_turns_the_range_around() -> None:
    reach = OperandReach(100, 103, [(7, -4)], written=False)
    assert reach.span({}, {7: (0, 5)}) == (80, 103)


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        ([(0, 3)], [(4, 7)], False),
        ([(0, 4)], [(4, 7)], True),
        ([(0, 1), (8, 9)], [(2, 7)], False),
        ([(0, 9)], [(3, 3)], True),
        ([], [(0, 9)], False),
    ],
)
def test_common_words(first: list[tuple[int, int]], second: list[tuple[int, int]], common: bool):
    assert have_common_word(first, second) is common


@pytest.mark.parametrize("lengths", [(6, 4, 5), (3, 5, 4), (5, 6, 2), (0, 3, 3)])
def test_a_map_takes_as_many_turns_as_its_shortest_operand(lengths: tuple[int, int, int]) -> None:
    """Three inputs are two operations: whichever ends the map, the cycles are the machine's."""
    b = ProgramBuilder("map", 1, 1)
    code = b.code("only")
    code.buffer("v", "f32", WORDS)
    for n, length in enumerate(lengths):
        code.mem1d(f"d{n}", "v", max(1, length))
    code.mem1d("out", "v", max(1, *lengths))
    task = code.task("main", entry=True)
    with task.map(*((f"i{n}", f"d{n}") for n in range(3)), output=("i0", "out")):
        task.compute("i0", "add", "i1", code.element("v", 1), dtype="f32")
    task.op("fmovs", "d0", 1.0)
    b.place("only", Area(0, 0))
    machine = Machine(b.build(), load_profile("wse3-sdk-sim"))
    code_words = code_of_block(machine.compiled.tables.blocks[0])
    work = map_work(code_words, first_instruction(code_words, at.I_MAP_START))
    assert work.turns == max(1, min(lengths))
    timeline = machine.run(timeline=True).trace.timeline
    (mapped,) = [event for event in timeline if event.operation == "map"]
    (move,) = [event for event in timeline if event.operation == "fmovs"]
    begin = code_words.header[at.K_SWITCH]
    load = code_words[code_words[first_instruction(code_words, at.I_OPERATION) + 1] + at.O_LOAD]
    assert (mapped.start, mapped.end) == (begin, begin + work.recorded)
    assert move.start == begin + work.cycles + load
