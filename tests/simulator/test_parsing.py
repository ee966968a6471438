"""The text form of programs: read back, bounded, errors with line and column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from every_construct import everything
from explore import enough
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_programs import random_case
from special_programs import special_case

from tilewright.arch.errors import TilewrightError
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Immediate, Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program


def test_every_construct(golden: Callable[[str], None]) -> None:
    program = everything()
    text = print_program(program)
    golden(text)
    assert parse_program(text) == program
    assert program != parse_program(text.replace("extent 20", "extent 21"))


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=30)
def test_reads_back_what_was_printed(seed: int, special: bool) -> None:
    program = (special_case if special else random_case)(seed).program
    text = print_program(program)
    back = parse_program(text)
    assert back == program
    assert print_program(back) == text


@given(st.text(max_size=12), st.floats(allow_nan=False), st.integers(-(10**9), 10**9))
def test_any_name_and_number(name: str, number: float, whole: int) -> None:
    b = ProgramBuilder(name, 1, 1)
    code = b.code(name)
    code.buffer(name, "f32", 2)
    code.mem1d(name + "1", name, 2)
    main = code.task(name)
    main.set(name, whole)
    main.op("fmovs", Ref(name + "1").at(variable(name)), number, label=name)
    b.place(name, Area(0, 0))
    program = b.build()
    assert parse_program(print_program(program)) == program


def test_a_number_that_is_none() -> None:
    b = ProgramBuilder("p", 1, 1)
    code = b.code("c")
    code.buffer("v", "f32", 2)
    code.mem1d("d", "v", 2)
    code.task("t").op("fmovs", "d", np.float64("nan"))
    b.place("c", Area(0, 0))
    back = parse_program(print_program(b.build()))
    (operation,) = back.codes[0].tasks[0].body
    assert isinstance(operation.sources[0], Immediate)  # type: ignore[union-attr]
    assert operation.sources[0].value != operation.sources[0].value  # type: ignore[union-attr]


def test_comments_and_order_are_free() -> None:
    text = """
program p 1 x 1
// colors may stand behind the code that names them
code c
  task t entry

    set k 3
  input_queue 2 x
place c [0:1, 0:1]
color x 4
"""
    assert [queue.color for queue in parse_program(text).codes[0].input_queues] == ["x"]


def test_comments_stand_behind_lines() -> None:
    text = """# a program
program p 1 x 1  # one element
color "# // x" 4   // its name is no comment
code c
  buffer v f32 [4]#
   # indented as it likes
  mem1d d v extent 4
  task t entry  //
    @fmovs d, #2  # two
#place c [0:1, 0:1]
place c [0:1, 0:1]
"""
    program = parse_program(text)
    assert program.colors[0].name == "# // x"
    assert print_program(program).count("@fmovs d, #2\n") == 1


def test_numbers_and_addresses_that_are_left_out() -> None:
    """As the builder chooses them: the lowest free color, the next even word."""
    text = """program p 1 x 1
color x 0
color y
color z 2
color w
code c
  buffer a i16 [3]
  buffer b f32 [2]
  buffer low f32 [2] @ 100
  buffer d i16 [1] @ 50
  buffer e i16 [1]
place c [0:1, 0:1]
"""
    program = parse_program(text)
    assert [color.id for color in program.colors] == [0, 1, 2, 3]
    assert [buffer.address for buffer in program.codes[0].buffers] == [0, 4, 100, 50, 104]


HEAD = "program p 1 x 1\ncode c\n  buffer v f32 [4] @ 0\n  mem1d d v extent 4\n  task t\n"
BROKEN = {
    "nothing": "",
    "no header": "color x 1",
    "no size": "program p 1",
    "too large": "program p 100000 x 100000",
    "unknown declaration": "program p 1 x 1\ncolour x 1",
    "no code": "program p 1 x 1\nplace main [0:1, 0:1]",
    "twice placed": HEAD + "place c [0:1, 0:1]\nplace c [0:1, 0:1]",
    "outside": HEAD + "place c [0:1, 0:2]",
    "backwards": HEAD + "place c [1:0, 0:1]",
    "odd indentation": HEAD + "   set k 1",
    "too deep": HEAD + "      set k 1",
    "else alone": HEAD + "    else",
    "unknown instruction": HEAD + "    sett k 1",
    "unknown property": HEAD + "    @fmovs d, #1 asinc",
    "twice given": HEAD + "    @fmovs d, #1 label a label b",
    "no extent": "program p 1 x 1\ncode c\n  mem1d d v stride 2",
    "no number": HEAD + "    @fmovs d, #1.x",
    "long number": HEAD + "    set k " + "9" * 4000,
    "goes on": HEAD + "    set k 1 2",
    "register": HEAD + "    load %dsr_src2 1 d",
    "strange character": HEAD + "    @fmovs d, $1",
    "open quote": HEAD + '    set "k 1',
    "unknown DSD": HEAD + "    @fmovs e, #1\nplace c [0:1, 0:1]",
    "unknown operation": HEAD + "    @fmovs d, #1\n    @fmov d, #1\nplace c [0:1, 0:1]",
    "unknown color": HEAD + "  input_queue 2 x\nplace c [0:1, 0:1]",
    "no code anywhere": HEAD,
    "a tab": HEAD + "\tset k 1",
    "no whole number": "program p 1 x 1\ncode c\n  buffer v f32 [4.5]",
    "infinite number": HEAD + "    @fmovs d, #1e400",
    "too deep in all": HEAD + "".join("  " * (i + 2) + f"loop i{i} 1\n" for i in range(80)),
    "strides": HEAD + "  mem4d q v extent [2, 2] stride [1]\nplace c [0:1, 0:1]",
    "unused": HEAD + "  mem1d q w extent 2\nplace c [0:1, 0:1]",
}


def test_errors_name_line_and_column(golden: Callable[[str], None]) -> None:
    shown = []
    for name, text in BROKEN.items():
        with pytest.raises(ProgramError) as caught:
            parse_program(text, "p.txt")
        assert caught.value.where is not None
        shown.append(f"{name}\n{caught.value}")
    golden("\n\n".join(shown) + "\n")


COMPILED = {
    "  input_queue 2 x\n  fabin in queue 2 extent 4\n  task t entry\n    @fmovs d, in\n": (
        "code c, input queue 2: receives color x, but the router of element (0, 0) has no route",
        6,
    ),
    "  output_queue 2 x\n  fabout out queue 2 extent 4\n  task t entry\n    @fmovs out, d\n": (
        "code c, output queue 2: sends color x, but the router of element (0, 0) has no route",
        6,
    ),
    "  task t\nroute x [0:1, 0:1] rx W tx R\n": ("route of color x in [0:1, 0:1]: it goes to R", 7),
    "  task t\nroute x [0:1, 0:1] rx W tx E\n": (
        "route of color x in [0:1, 0:1]: it leaves the",
        7,
    ),
    "  task t\nroute x [0:1, 0:1] rx W tx E\nroute x [0:1, 0:1] rx N tx S\n": (
        "route of color x in [0:1, 0:1]: element (0, 0) has two routes for it",
        8,
    ),
    "  task t\n"
    "edge_input p side N [0:1] color x f32 count 4\nedge_input q side N [0:1] color x f32 count 4\n"
    "route x [0:1, 0:1] rx N tx S\nedge_output o side S [0:1] color x f32 count 8\n": (
        "edge port q: two edge inputs bring color x from N",
        8,
    ),
    "  task t\nedge_input p side N [0:1] color x f32 count 4\n": ("edge port p: brings color x", 7),
    "  buffer big f32 [40000]\n": ("code c needs 160016 bytes of SRAM", 3),
}


@pytest.mark.parametrize("text", COMPILED)
def test_errors_of_a_machine_name_the_line_too(text: str) -> None:
    what, row = COMPILED[text]
    whole = HEAD.replace("code c", "color x\ncode c").replace("  task t\n", "") + text
    program = parse_program(whole + "place c [0:1, 0:1]\n", "p.txt")
    with pytest.raises(ProgramError) as caught:
        Machine(program, load_profile("wse3-sdk-sim"))
    assert str(caught.value).startswith(what)
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == ("p.txt", row)


def test_long_texts_and_deep_bodies_are_refused() -> None:
    with pytest.raises(ProgramError, match="too long"):
        parse_program("x" * (1 << 25))
    deep = HEAD + "".join("  " * (2 + d) + f"loop k{d} 1\n" for d in range(900))
    with pytest.raises(ProgramError, match="indented too far"):
        parse_program(deep)
    inner = ProgramBuilder("deep", 1, 1)
    main = inner.code("c").task("t")
    loops = [main.loop(f"k{d}", 1) for d in range(1000)]
    for loop in loops:
        loop.__enter__()
    for loop in reversed(loops):
        loop.__exit__(None, None, None)
    inner.place("c", Area(0, 0))
    with pytest.raises(ProgramError, match="more than 64 bodies inside each other"):
        inner.build()


CHARACTERS = '\n  ,:=+*<#@%()[]"0123456789-abcxyz.$'


def broken(text: str, rng: np.random.Generator) -> str:
    """Return a text with some characters, words or lines changed."""
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(4)
        if kind == 0:
            at = int(rng.integers(len(text)))
            text = text[:at] + str(rng.choice(list(CHARACTERS))) + text[at + 1 :]
        elif kind == 1:
            lines = text.split("\n")
            at = int(rng.integers(len(lines)))
            text = "\n".join([*lines[:at], *lines[at + 1 :]])
        elif kind == 2:
            lines = text.split("\n")
            some, other = rng.integers(len(lines), size=2)
            lines[some], lines[other] = lines[other], lines[some]
            text = "\n".join(lines)
        else:
            words = text.split(" ")
            some, other = rng.integers(len(words), size=2)
            words[some] = words[other]
            text = " ".join(words)
    return text


def text_outcome(seed: int) -> str:
    rng = np.random.default_rng(seed)
    case = (special_case if rng.integers(2) else random_case)(int(rng.integers(1 << 30)))
    try:
        program = parse_program(broken(print_program(case.program), rng))
        machine = Machine(program, load_profile("wse3-sdk-sim"))
        machine.run(memory=case.memory, edges=case.edges, max_cycles=20_000)
    except TilewrightError as error:
        return str(error)
    return "result"


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_broken_texts_end_in_a_result_or_a_named_error(seed: int) -> None:
    assert text_outcome(seed)


@pytest.mark.nightly
def test_a_thousand_broken_texts(shift: int) -> None:
    seeds = range(shift, shift + 1000)
    found = {text_outcome(seed).splitlines()[0][:30] for seed in seeds}
    assert enough(len(found), 41)
