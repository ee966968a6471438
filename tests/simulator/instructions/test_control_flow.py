"""Loops, branches and counters: text, what is known of counters in bodies, the rows of jumps."""

from __future__ import annotations

import pytest

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.code_encoder import CodeEncoder
from tilewright.simulator.compile.table_blocks import TABLES, CompileTarget
from tilewright.simulator.instructions.control_flow import (
    Add,
    If,
    Loop,
    Set,
    counters_set,
    without_counters,
)
from tilewright.simulator.instructions.kind import Body
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import ElementCode, Task
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_body

HEAD = "program p 1 x 1\ncode c\n  buffer v i32 [4] @ 0\n  task main entry\n"
END = "place c [0:1, 0:1]\n"


def parsed(body: str) -> Body:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return parse_program(HEAD + lines + END).codes[0].tasks[0].body


def instruction_rows(body: Body) -> list[list[int]]:
    """Return the rows of a task with a body, its end included."""
    code = ElementCode("c", tasks=(Task("main", body, entry=True),))
    _, rows = CodeEncoder(code, CompileTarget(load_profile("generic"), 0, ())).encode()
    return rows[TABLES.index("instruction")]


TEXT = "loop k 3\n  if k < 2\n    set j 1\n  else\n    add j -4"


def test_text_reads_back() -> None:
    body = parsed(TEXT)
    assert body == (Loop("k", 3, (If("k", 2, (Set("j", 1),), (Add("j", -4),)),)),)
    assert "\n".join(print_body(body)) == TEXT


def test_counters_set_leave_out_variables_of_loops() -> None:
    assert counters_set(parsed(TEXT)) == {"j"}
    assert without_counters({"j": 2, "k": 3}, "j") == {"k": 3}


def test_rows_of_a_branch_jump_behind_its_bodies() -> None:
    rows = instruction_rows(parsed("if k < 2\n  set j 1\nelse\n  set j 5"))
    assert rows == [
        [at.I_UNLESS_BELOW, 0, 2, 3],
        [at.I_SET, 1, 1, 0],
        [at.I_JUMP, 0, 0, 4],
        [at.I_SET, 1, 5, 0],
        [at.I_END, 0, 0, 0],
    ]


def test_rows_of_a_loop_lead_back_to_its_body() -> None:
    rows = instruction_rows(parsed("loop k 3\n  add j 2"))
    assert rows == [
        [at.I_LOOP, 0, 0, 0],
        [at.I_ADD, 1, 2, 0],
        [at.I_END_LOOP, 0, 3, 1],
        [at.I_END, 0, 0, 0],
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("loop k 0\n  set j 1", "loop k: the count is not positive"),
        ("loop k 2\n  loop k 2\n    set j 1", "loop k: the variable belongs to a loop around it"),
        ("set k 2147483648", "a number is too large"),
        ("loop k 5\n  v(k) = mov.i32 k", "leaves buffer v"),
        ("loop k 5\n  if k < 5\n    v(k) = mov.i32 k", "leaves buffer v"),
    ],
)
def test_refusals(body: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        parsed(body)


@pytest.mark.parametrize(
    "body",
    [
        "loop k 5\n  if k < 4\n    v(k) = mov.i32 k",
        "loop k 5\n  set k 1\n  v(k) = mov.i32 k",
        "loop k 4\n  v(k) = mov.i32 k",
    ],
)
def test_bounds_that_hold_or_are_known_in_a_run_only(body: str) -> None:
    assert parsed(body)
