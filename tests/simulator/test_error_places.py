"""Errors about a program read from text name the line of the very part that is meant."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

MARK = "// here"
HEAD = """
program places 1 x 1
color x 0
color y 1
code m
  buffer v f32 [8]
  mem1d all v extent 8
  mem1d four v extent 4
"""
FABRIC = """  input_queue 2 x
  output_queue 3 y
  fabin in queue 2 extent 8
  fabout out queue 3 extent 8
"""
ROUTES = """place m [0:1, 0:1]
route x [0:1, 0:1] rx W tx R
route y [0:1, 0:1] rx R tx E
edge_input xs side W [0:1] color x f32 count 8
edge_output ys side E [0:1] color y f32 count 8
"""
PLACE = "place m [0:1, 0:1]\n"
XS = {"xs": np.zeros((1, 8), dtype=np.float32)}
TASK = "  task main entry\n"

DUPLICATES = {
    "a buffer": HEAD + f"  buffer v i16 [2] {MARK}\n" + TASK + PLACE,
    "a descriptor": HEAD + f"  mem1d all v extent 2 {MARK}\n" + TASK + PLACE,
    "a task": HEAD + TASK + f"  task main {MARK}\n" + PLACE,
    "an input queue": HEAD + f"  input_queue 2 x\n  input_queue 2 y {MARK}\n" + TASK + PLACE,
    "a queue's color": HEAD + f"  output_queue 2 x\n  output_queue 3 x {MARK}\n" + TASK + PLACE,
    "a color": HEAD.replace("y 1", f"x 1 {MARK}") + TASK + PLACE,
    "a color's number": HEAD.replace("y 1", f"y 0 {MARK}") + TASK + PLACE,
    "a code": HEAD + TASK + f"code m {MARK}\n" + TASK + PLACE,
    "an edge port": HEAD
    + FABRIC
    + TASK
    + ROUTES
    + f"edge_output xs side E [0:1] color x f32 count 8 {MARK}\n",
    "an entry": HEAD + f"  task p control 5\n  task q control 5 {MARK}\n" + TASK + PLACE,
    "a data task": HEAD + FABRIC + f"  task p queue 2\n  task q queue 2 {MARK}\n" + TASK + ROUTES,
    "a teardown's task": HEAD + FABRIC + f"  task p teardown x\n  task q teardown x {MARK}\n"
    f"{TASK}{ROUTES}",
    "a task of a flush": HEAD + FABRIC + "  task p empty_output 3\n"
    f"  task q empty_output 3 {MARK}\n{TASK}{ROUTES}",
    "a route": HEAD + FABRIC + TASK + ROUTES + f"route x [0:1, 0:1] rx N tx R {MARK}\n",
}
TWICE = "    @fmovs all, #0.0\n    @fmovs all, #1.0\n"
REFUSED = {
    "the second of equal operations": HEAD + TASK + TWICE + f"    @fmovs all, four {MARK}\n",
    "an operation in a loop": HEAD
    + TASK
    + TWICE
    + f"    loop i 5\n      @fmovs four[i + 1], #0.0 {MARK}\n",
    "a load of a register": HEAD
    + TASK
    + f"    load %dsr_dest 1 all\n    load %dsr_dest 1 all[1] {MARK}\n",
    "a register that does not exist": HEAD + TASK + f"    load %dsr_dest 16 all {MARK}\n",
    "the activation of no task": HEAD + TASK + f"    activate main\n    activate mian {MARK}\n",
    "a scalar": HEAD + TASK + f"    k = add.f32 k, k\n    k = and.f32 k, k {MARK}\n",
    "a queue of no color": HEAD + f"  input_queue 2 z {MARK}\n" + TASK,
    "a queue that does not exist": HEAD + f"  input_queue 9 x {MARK}\n" + TASK,
    "a flush that nobody follows": HEAD + FABRIC + TASK + f"    flush_output 3 {MARK}\n",
}


def place_of(text: str, edges: Mapping[str, npt.ArrayLike] | None = None) -> int | None:
    with pytest.raises((ProgramError, MachineError)) as caught:
        Machine(parse_program(text, "p.txt"), load_profile("wse3-sdk-sim")).run(edges=edges)
    assert caught.value.where is not None
    return caught.value.where.line


def marked(text: str) -> int:
    return next(n for n, line in enumerate(text.split("\n"), 1) if MARK in line)


@pytest.mark.parametrize("what", [*DUPLICATES, *REFUSED])
def test_the_very_line_is_named(what: str) -> None:
    text = DUPLICATES.get(what) or REFUSED[what] + PLACE
    assert place_of(text) == marked(text)


STOPPED = {
    "a load": (
        HEAD
        + TASK
        + f"    load %dsr_dest 1 four\n    set k 5\n    load %dsr_dest 1 four[k] {MARK}\n",
        "code m, task main, load of dsr_dest 1: descriptor four leaves buffer v",
    ),
    "the second of equal operations": (
        HEAD + TASK + f"    @fmovs four[k], #0.0\n    set k 5\n    @fmovs four[k], #0.0 {MARK}\n",
        "code m, task main, @fmovs: operand four leaves buffer v",
    ),
    "an operation in another task": (
        HEAD + TASK + f"    activate b\n    set k 5\n  task b\n    @fmovs four[k], #0.0 {MARK}\n",
        "code m, task b, @fmovs: operand four leaves buffer v",
    ),
    "a scalar": (
        HEAD
        + TASK
        + f"    set k 8\n    j = add.f32 v(1), v(2)\n    v(0) = add.f32 v(1), v(k) {MARK}\n",
        "code m, task main, add.f32: v(k) leaves buffer v",
    ),
    "a scalar in a map": (
        HEAD + TASK + f"    map e from four\n      add k 3\n      v(k) = add.f32 e, e {MARK}\n",
        "code m, task main, add.f32: v(k) leaves buffer v",
    ),
    "a scalar operation": (
        HEAD + TASK + f"    @fnorms v(0), v(1)\n    set k 8\n    @fnorms v(0), v(k) {MARK}\n",
        "code m, task main, @fnorms: v(k) leaves buffer v",
    ),
    "a division": (
        HEAD + TASK + f"    k = div.i32 #4, #2\n    k = div.i32 #4, j {MARK}\n",
        "code m, task main, div.i32: a division by zero",
    ),
    "lengths": (
        HEAD
        + TASK
        + "    set k 3\n    @fmovs four {length k}, #0.0\n"
        + f"    @fmovs four {{length k}}, four {MARK}\n",
        "code m, task main, @fmovs: the lengths of its operands differ: 3 and 4",
    ),
}


@pytest.mark.parametrize("what", STOPPED)
def test_a_stopped_run_names_the_very_line(what: str) -> None:
    text, message = STOPPED[what]
    with pytest.raises(MachineError) as caught:
        Machine(parse_program(text + PLACE, "p.txt"), load_profile("wse3-sdk-sim")).run()
    assert caught.value.what.split(", ", 3)[3].startswith(message)
    assert caught.value.where is not None
    assert caught.value.where.line == marked(text)


CHANGED = {
    f"    end_teardown x {MARK}\n": "end_teardown x: color x is not torn down at this router",
    f"    reconfigure x rx W tx R {MARK}\n": (
        "reconfigure x: color x is not torn down at this router"
    ),
    f"    @fmovs out, all\n    bind_output 3 y {MARK}\n": (
        "bind_output 3 y: output queue 3 gets another color, but"
    ),
    f"    @fmovs all, in async\n    @fmovs all, in async ut 5 {MARK}\n": (
        "@fmovs: input queue 2 is in use by code m"
    ),
}


@pytest.mark.parametrize("body", CHANGED)
def test_changes_of_routers_and_queues_name_their_line(body: str) -> None:
    text = HEAD + FABRIC + TASK + body + ROUTES
    with pytest.raises(MachineError) as caught:
        Machine(parse_program(text, "p.txt"), load_profile("wse3-sdk-sim")).run(edges=XS)
    assert f"element (0, 0), code m, task main, {CHANGED[body]}" in caught.value.what
    assert caught.value.where is not None
    assert caught.value.where.line == marked(text)


def test_a_position_that_this_router_does_not_have() -> None:
    """Element (0, 0) has two positions, (0, 1) one: `position 1` is legal for the program."""
    text = f"""
program torn 1 x 2
color x 0
code m
  task main entry
    end_teardown x position 1 {MARK}
place m [0:1, 0:2]
route x [0:1, 0:1] rx W tx E pos1 tx S teardown
route x [0:1, 1:2] rx W tx E teardown
edge_input xs side W [0:1] color x f32 count 8
edge_output ys side E [0:1] color x f32 count 8
edge_output zs side S [0:1] color x f32 count 8
"""
    with pytest.raises(MachineError) as caught:
        Machine(parse_program(text, "p.txt"), load_profile("wse3-sdk-sim")).run(edges=XS)
    assert not isinstance(caught.value, DeadlockError)
    assert str(caught.value).split("end_teardown x: ")[1] == (
        "the switch of this router has no such position, or it is invalid\n"
        f"  at:      p.txt:{marked(text)}:5\n  value:   1\n"
        "  instead: 0, or a position that the route here gives"
    )


def test_two_arrivals_name_the_route() -> None:
    text = f"""
program meeting 1 x 1
color x 0
code m
  task main
place m [0:1, 0:1]
route x [0:1, 0:1] rx NW tx S {MARK}
edge_input xs side N [0:1] color x f32 count 1
edge_input ws side W [0:1] color x f32 count 1
edge_output ys side S [0:1] color x f32 count 2
"""
    one = np.ones((1, 1), dtype=np.float32)
    assert place_of(text, {"xs": one, "ws": one}) == marked(text)


def test_codes_that_differ_in_numbers_only_have_lines_of_their_own() -> None:
    """They are checked and compiled together; the one that fails is the last."""
    lines = ["program several 1 x 6"]
    for number in range(6):
        moved, mark = (2, "") if number < 5 else (10, f" {MARK}")
        lines += [f"code c{number}", f"  buffer v f32 [{number + 8}]", "  mem1d four v extent 4"]
        lines += ["  task main entry", f"    set k {moved}"]
        lines += ["    @fmovs four, #1.0", f"    @fmovs four[k], #1.0{mark}"]
        lines += [f"place c{number} [0:1, {number}:{number + 1}]"]
    text = "\n".join(lines)
    with pytest.raises(MachineError) as caught:
        Machine(parse_program(text, "p.txt"), load_profile("wse3-sdk-sim")).run()
    assert "element (0, 5), code c5, task main, @fmovs: operand four" in caught.value.what
    assert caught.value.where is not None
    assert caught.value.where.line == marked(text)


def test_what_waits_in_a_deadlock_has_its_line() -> None:
    text = f"{HEAD}{FABRIC}{TASK}    @fmovs all, in\n    @fmovs all, in {MARK}\n{PLACE}"
    text += "".join(line for line in ROUTES.splitlines(keepends=True) if "color x" in line)
    text += "route x [0:1, 0:1] rx W tx R\n"
    with pytest.raises(DeadlockError) as caught:
        Machine(parse_program(text, "p.txt"), load_profile("wse3-sdk-sim")).run(edges=XS)
    assert f"@fmovs (p.txt:{marked(text)}:5), 0 of 8 done" in str(caught.value)
