"""docs/new-instruction.md: the instruction on the page works once it is in the table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from doc_pages import blocks

from tilewright.simulator.instructions import table
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

TEXT = """program resetting 1 x 1
code only
  buffer v i32 [2] @ 0
  task main entry
    set k 5
    set j 7
    reset k
    v(0) = mov.i32 k
    v(1) = mov.i32 j
place only [0:1, 0:1]
"""


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Run the page's code and register its kind; take it out of the table again."""
    module = ModuleType("docs_new_instruction")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = vars(module)
    (code,) = blocks("new-instruction.md", "python")
    exec(compile(code, "docs/new-instruction.md", "exec"), names)
    table.register_kind(names["RESET"])
    yield names
    table.unregister_kind(names["RESET"])


def test_it_is_unknown_before() -> None:
    with pytest.raises(ProgramError, match="unknown instruction"):
        parse_program(TEXT)


def test_it_is_read_printed_and_run(page: dict[str, Any]) -> None:
    program = parse_program(TEXT)
    assert page["Reset"](("k",)) in program.codes[0].tasks[0].body
    assert print_program(program) == TEXT
    result = Machine(program, load_profile("generic")).run()
    assert result.memory["v"].ravel().tolist() == [0, 7]
    assert result.memory["v"].dtype == np.int32


def test_its_check_runs(page: dict[str, Any]) -> None:
    with pytest.raises(ProgramError, match="task main: reset names no counter"):
        parse_program(TEXT.replace("reset k", "reset"))


def test_bounds_do_not_rely_on_a_counter_that_it_sets(page: dict[str, Any]) -> None:
    inside = "    loop k 9\n      reset k\n      v(0) = mov.i32 v(k)\n"
    program = parse_program(TEXT.replace("    reset k\n", inside))
    assert page["Reset"](("k",)) in program.codes[0].tasks[0].body[2].bodies[0]
    without = inside.replace("      reset k\n", "")
    with pytest.raises(ProgramError, match="leaves buffer v"):
        parse_program(TEXT.replace("    reset k\n", without))


def test_a_field_of_another_type_is_refused(page: dict[str, Any]) -> None:
    from tilewright.simulator.check.field_types import check_fields

    with pytest.raises(ProgramError, match=r"here: Reset\.variables has a wrong type"):
        check_fields(page["Reset"](("k", 3)), "here")
