"""The report of bank conflicts: the cycles of the run, and a move that avoids them."""

from __future__ import annotations

import pytest

from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import CONFLICT
from tilewright.simulator.show.bank_report import SourceBank, bank_report
from tilewright.simulator.show.inspection import inspect_program
from tilewright.simulator.text.parsing import parse_program

WSE3 = load_profile("wse3-sdk-sim")


def product(second: int, body: str = "@fmacs y, y, b, #2.0") -> Program:
    """Return an element with `y` at word 0 and `b` at word `second`, 24 f32 each."""
    return parse_program(
        "program product 1 x 2\ncode m\n  buffer ys f32 [24] @ 0\n"
        f"  buffer bs f32 [24] @ {second}\n  mem1d y ys extent 24\n  mem1d b bs extent 24\n"
        f"  mem1d odd bs extent 12 stride 2\n  mem1d half ys extent 12\n"
        f"  task main entry\n    loop i 3\n      {body}\nplace m [0:1, 0:2]\n"
    )


def test_an_operation_in_one_bank_and_the_move_that_helps() -> None:
    machine = Machine(product(64), WSE3)
    result = machine.run()
    (row,) = bank_report(machine, result)
    assert row.operation == "code m, task main, @fmacs"
    assert (row.runs, row.cycles) == (6, 2 * 3 * 24)
    assert row.cycles == result.trace.stall_cycles[..., CONFLICT].sum()
    assert row.sources == (SourceBank("ys", 0, 0), SourceBank("bs", 64, 0))
    assert row.shift == 2
    assert "bs 2 words further on: none" in str(row)
    moved = Machine(product(64 + row.shift), WSE3)
    assert bank_report(moved, moved.run()) == ()
    assert bank_report(machine, FastMachine(product(64), WSE3).run().result) == (row,)


@pytest.mark.parametrize(
    ("body", "sources"), [("@fmovs half, odd", 1), ("@fmacs y, y, y, #2.0", 2)]
)
def test_what_no_move_helps(body: str, sources: int) -> None:
    machine = Machine(product(66, body), WSE3)
    rows = bank_report(machine, machine.run())
    assert [(len(row.sources), row.shift) for row in rows] == [(sources, None)]


def test_sums_are_no_bank_conflicts() -> None:
    machine = Machine(product(64, "@fadds ys(0), ys(0), b"), WSE3)
    assert bank_report(machine, machine.run()) == ()


def test_the_address_map_names_the_banks() -> None:
    text = str(inspect_program(product(66), WSE3))
    assert "0 -     96  ys f32, bank 0" in text
    assert "132 -    228  bs f32, bank 2" in text
