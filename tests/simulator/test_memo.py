"""Answers that are kept by value: equal codes have one, what differs in a bit has its own."""

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.isa.dsd import Immediate
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile, profile_number
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

GENERIC = load_profile("generic")


def filled(number: float, extent: int = 3) -> Program:
    b = ProgramBuilder("filled", 1, 1)
    code = b.code("main")
    code.buffer("v", "f32", 3)
    code.mem1d("all", "v", extent)
    code.task("main", entry=True).op("fmovs", "all", number)
    b.place("main", Area(0, 0))
    return b.build()


def test_what_is_raised_is_not_kept() -> None:
    for _ in range(2):
        with pytest.raises(ProgramError, match="leaves buffer v"):
            filled(1.0, extent=4)


def test_numbers_that_are_equal_but_not_the_same_are_told_apart() -> None:
    assert Immediate(0.0) != Immediate(-0.0)
    assert Immediate(1) != Immediate(1.0)
    assert Immediate(2.5) == Immediate(2.5)
    for number in (0.0, -0.0, 0.0):
        found = Machine(filled(number), GENERIC).run().memory["v"]
        assert (np.signbit(np.asarray(found)) == np.signbit(number)).all()


def test_a_written_code_is_taken_as_it_is() -> None:
    program = filled(2.0)
    b = ProgramBuilder("filled", 1, 1)
    b.written_code(program.codes[0])
    b.place("main", Area(0, 0))
    assert b.build() == program
    assert b.build().codes[0] is program.codes[0]
    with pytest.raises(ProgramError, match="this is no code"):
        b.written_code("main")  # type: ignore[arg-type]


def test_equal_codes_are_compiled_once() -> None:
    mine, other = (Machine(chain_reduce(4, 8), GENERIC) for _ in range(2))
    assert all(
        a.operations is b.operations
        for a, b in zip(mine.compiled.layouts, other.compiled.layouts, strict=True)
    )
    slow = GENERIC.with_values({"operations.fadds.group": 1, "hop_cycles": 2})
    found = Machine(chain_reduce(4, 8), slow).compiled.layouts[0]
    assert found.operations is not mine.compiled.layouts[0].operations


def test_equal_profiles_have_one_number() -> None:
    assert profile_number(GENERIC) == profile_number(GENERIC.with_values({}))
    assert profile_number(GENERIC) != profile_number(GENERIC.with_values({"hop_cycles": 3}))
    changed = GENERIC.with_values({"operations.fadds.group": 1})
    assert profile_number(GENERIC) != profile_number(changed)
