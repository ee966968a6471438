"""Errors of runs say which operand, register, element or instruction, and why; always the same."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, ProgramError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

WSE3 = load_profile("wse3-sdk-sim")
HEAD = """
program one 1 x {width}
color x
code m
  buffer a f32 [8]
  buffer b f32 [8]
  buffer g i16 [8]
  mem1d A a extent 4
  mem1d B b extent 4
  mem1d W b extent 4 wavelet_index_offset
  mem4d P a extent [2, 2] stride [2, 1] offset 0
  mem4d Q b extent [2, 2] stride [2, 1] offset 0
  circbuf C a extent 4 wraparound 3
  circbuf D b extent 4 wraparound 3
  task main entry
{body}
place m [0:1, 0:{width}]
"""


def program(body: str, width: int = 1) -> Program:
    lines = "\n".join("    " + line for line in body.split("\n"))
    return parse_program(HEAD.format(width=width, body=lines))


def error(body: str, width: int = 1, **settings: object) -> str:
    with pytest.raises((MachineError, ProgramError)) as caught:
        Machine(program(body, width), WSE3).run(**settings)  # type: ignore[arg-type]
    return str(caught.value)


BOUNDS = {
    "set k 3\n@fmovs A[2*k], #1.0": ("@fmovs: operand A", "a", "elements 6 to 9 (k = 3)"),
    "set k 3\nload %dsr_dest 1 A[2*k]": (
        "load of dsr_dest 1: descriptor A",
        "a",
        "elements 6 to 9 (k = 3)",
    ),
    "set k 9\na(k) = mov.f32 #1.0": ("mov.f32: a(k)", "a", "element 9 (k = 9)"),
    "set k 6\n@fmovs A[k] {length k}, B {length k}": (
        "@fmovs: operand A",
        "a",
        "elements 6 to 11 (k = 6)",
    ),
    "set k 100\n@fmovs A, W index (3*k)": ("operand W", "b", "elements 150 to 153 (index 300)"),
    "set k 8\n@fmovs A, a(k)": ("its scalar", "a", "element 8 (k = 8)"),
}


@pytest.mark.parametrize("body", list(BOUNDS))
def test_an_operand_that_leaves_its_buffer_is_named(body: str) -> None:
    found = error(body)
    assert "element (0, 0), code m, task main" in found
    who, buffer, value = BOUNDS[body]
    last = HEAD[: HEAD.index("{body}")].count("\n") + body.count("\n") + 1
    assert found.endswith(
        f"{who} leaves buffer {buffer} of 8 elements\n  at:      <program>:{last}:5\n"
        f"  value:   {value!r}\n  instead: elements 0 to 7"
    )


CONSTANT = [
    "load %dsr_dest 1 A[6]",
    "a(9) = mov.f32 #1.0",
    "@fmovs A, W index (300)",
    "@fmovs A, W index (10)",
    "loop i 6\n  @fmovs A, W index (2*i)",
    "loop i 6\n  load %dsr_dest 1 A[i]",
    "loop i 9\n  a(i) = mov.f32 #1.0",
    "loop i 9\n  if i < 6\n    @fmovs A[i], #1.0",
]


@pytest.mark.parametrize("body", CONSTANT)
def test_constant_bounds_are_found_before_a_run(body: str) -> None:
    with pytest.raises(ProgramError, match=r"leaves buffer [ab] of 8 elements") as caught:
        program(body)
    last = HEAD[: HEAD.index("{body}")].count("\n") + body.count("\n") + 1
    assert caught.value.where is not None
    assert caught.value.where.line == last


WITHIN = [
    "@fmovs A, W index (8)",
    "loop i 9\n  if i < 5\n    @fmovs A[i], #1.0",
    "loop i 9\n  if i < 8\n    a(i) = mov.f32 #1.0",
    "loop i 9\n  if i < 5\n    add k 1\n  else\n    @fmovs A[i + -5], #1.0",
    "loop i 99\n  set i 99\n  add k 1",
    "loop i 20\n  add i 4\n  @fmovs A[i + -4], #1.0\n  add i 15",
]


@pytest.mark.parametrize("body", WITHIN)
def test_what_a_guard_keeps_inside_runs(body: str) -> None:
    Machine(program(body), WSE3).run()


LOST = [
    "load %dsr_src1 1 C xdsr 0\nload %dsr_src1 2 D xdsr 0\n@fmovs A, %dsr_src1 1",
    "load %dsr_src1 1 P xdsr 0 sr 0\nload %dsr_src0 2 Q xdsr 1 sr 0\n@fmovs A, %dsr_src1 1",
]


@pytest.mark.parametrize("body", LOST)
def test_a_register_loses_what_another_load_takes(body: str) -> None:
    text = "register dsr_src1 1 has lost its extended or stride register to the load of another"
    assert text in error(body)
    for free in ("xdsr 0\n@", "sr 0\n@"):
        legal = body.replace(free, free.replace("0", "2"))
        if legal != body:
            lines = "\n".join("    " + line for line in legal.split("\n"))
            Machine(parse_program(HEAD.format(width=1, body=lines)), WSE3).run()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("r = div.i16 #7, r", "div.i16: a division by zero"),
        ("set r 16\nr = shl.i16 #1, r", "shl.i16: a shift by a number of bits that the value does"),
        ("set r -1\nr = shr.u32 #1, r", "shr.u32: a shift by a number of bits that the value does"),
        ("set k 70000\n@fmovs A, W index (k)", "@fmovs: its index is outside 0..65535: 70000"),
        ("@fmovs A, W index (70000)", "@fmovs: an index is outside 0..65535"),
        ("@fmovs A, W index (3)", "@fmovs: an index counts words, and values of two words start"),
        (
            "set k 3\n@fmovs A, W index (k)",
            "@fmovs: its index or pointer counts words, and values of two",
        ),
        (
            "set k -1\n@fmovs A {length k}, B {length k}",
            "@fmovs: an operand's length is outside 0..65535: -1",
        ),
    ],
)
def test_what_has_no_result_is_an_error(body: str, text: str) -> None:
    assert text in error(body)


def test_an_endless_program_names_who_runs() -> None:
    found = error("loop i 2000000000\n  add k 1", width=2, max_cycles=1000)
    assert "takes more cycles than allowed: element (0, 0), task main runs, and 1 more" in found
    assert found.endswith("max_cycles=...)")


@pytest.mark.parametrize("settings", [{}, {"queues": True}, {"fuse": False}])
def test_the_first_element_of_a_cycle_is_named_in_any_order(settings: dict[str, bool]) -> None:
    text = HEAD.format(width=40, body="    set k 9\n    @fmovs A[k], #1.0")
    found = set()
    for shuffle in range(6):
        with pytest.raises(MachineError) as caught:
            Machine(parse_program(text), WSE3, **settings).run(shuffle=shuffle)
        found.add(caught.value.what)
    assert len(found) == 1
    assert "element (0, 0)" in found.pop()


def test_a_control_wavelet_without_a_task_is_shown() -> None:
    text = f"""
program control 1 x 1
color x
code m
  output_queue 2 x
  input_queue 2 x
  fabout ctl queue 2 extent 1 control
  task main entry
    @mov32 ctl, #{control_wavelet("nop", entry=7)}
  task d queue 2 w:u32
    set k 1
place m [0:1, 0:1]
route x [0:1, 0:1] rx R tx R
"""
    with pytest.raises(DeadlockError, match="a control wavelet of entry 7, which has no control"):
        Machine(parse_program(text), WSE3).run()


GIVEN = [
    ("u32", [2**33 + 5, 0], "value \\[[01]\\]: is no u32"),
    ("u32", [0, 1.5], "value \\[[01]\\]: is no u32"),
    ("i16", [40000, 0], "value \\[[01]\\]: is no i16"),
    ("u16", [0, -1], "value \\[[01]\\]: is no u16"),
    ("f16", [1e9, 0], "value \\[[01]\\]: is no f16"),
    ("i32", [float("nan"), 0], "value \\[[01]\\]: is no i32"),
    ("f32", [[1, 2], [3]], "no array of numbers"),
    ("f32", ["1", "2"], "no array of numbers"),
]


@pytest.mark.parametrize(("dtype", "values", "text"), GIVEN)
def test_data_that_does_not_fit_is_refused(dtype: str, values: list[object], text: str) -> None:
    buffer = f"  buffer c {dtype} [2]\n"
    program = f"program p 1 x 1\ncode m\n{buffer}  task t entry\nplace m [0:1, 0:1]\n"
    machine = Machine(parse_program(program), WSE3)
    with pytest.raises(MachineError, match=rf"memory for buffer c of element \(0, 0\).*{text}"):
        machine.run(memory={"c": {(0, 0): values}})  # type: ignore[dict-item]
    kept = {"f16": np.float64([np.inf, 1e-9]), "i16": np.float32([-32768, 32767])}.get(dtype)
    if kept is not None:
        found = machine.run(memory={"c": {(0, 0): kept}}).memory["c"].ravel()
        assert found.tolist() == kept.astype(found.dtype).tolist()


@pytest.mark.parametrize(
    ("at", "legal"), [("@ 0", False), ("@ 15", False), ("@ 16", True), ("", True)]
)
def test_buffers_do_not_overlap(at: str, legal: bool) -> None:
    buffers = f"  buffer a f32 [8]\n  buffer b u16 [4] {at}\n"
    program = f"program p 1 x 1\ncode m\n{buffers}  task t entry\nplace m [0:1, 0:1]\n"
    if legal:
        Machine(parse_program(program), WSE3).run()
        return
    with pytest.raises(ProgramError, match=r"buffer \w: lies in the words of"):
        parse_program(program)
