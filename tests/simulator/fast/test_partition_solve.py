"""Which parts of a program get times, and why others are refused."""

import numpy as np

from tilewright.simulator.compile.columns import F_SHARED
from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.fast import partition_solve
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import ProofEffort, scripts_of, solve_parts
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


def test_little_patience_gives_contended_links_up() -> None:
    machine = Machine(gemv_like(4, 4, 64, 1), WSE2)
    contending = np.flatnonzero(machine.compiled.network.fifo[:, F_SHARED])
    for patience, is_proved in ((None, True), (1000, True), (0, False)):
        timed, division = solve_parts(
            machine, contending=contending, effort=ProofEffort(patience=patience)
        )
        assert (timed is not None) == division.whole == is_proved


def test_nothing_is_solved_again_where_parts_are_of_no_use(monkeypatch) -> None:
    machine = Machine(gemv_like(4, 4, 64, 1), WSE2)
    calls = []

    def refused(*_):
        calls.append(1)
        raise NotCovered("no times", elements=np.array([0]))

    monkeypatch.setattr(partition_solve, "_solve", refused)
    timed, division = solve_parts(machine, effort=ProofEffort(in_parts=False))
    assert timed is None
    assert not division.whole
    assert len(calls) == 1
