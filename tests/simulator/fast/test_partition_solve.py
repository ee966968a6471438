"""Which parts of a program get times, and why others are refused."""

from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.partition_solve import scripts_of, solve_parts
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")


def test_codes_that_run_too_long_are_refused_with_all_their_elements() -> None:
    machine = Machine(gemv_like(4, 4, 64, 1), WSE2)
    division = Division(machine.compiled.network)
    scripts_of(machine, division, 3)
    assert division.reason == "a code runs too many instructions"
    assert not division.elements.any()


def test_a_regular_program_is_solved_as_a_whole() -> None:
    machine = Machine(gemv_like(4, 4, 64, 1), WSE2)
    timed, division = solve_parts(machine)
    assert timed is not None
    assert division.whole
    assert division.elements.all()
    assert (timed.times.pieces > 0).all()
