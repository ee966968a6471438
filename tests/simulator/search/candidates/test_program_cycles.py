"""Cycles of programs are the same whichever way finds them; runs end where they are told."""

from __future__ import annotations

import pytest

from tilewright.simulator.examples.known_costs import chain_reduce, two_phase_reduce
from tilewright.simulator.isa.machine_errors import RunStoppedError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.search.candidates import program_cycles
from tilewright.simulator.search.candidates.program_cycles import ProgramCycles

WSE2 = load_profile("wse2-sdk-sim")
ALWAYS, NEVER = 1, 1 << 60
WAYS = {
    "a run": {"PROOF_PAYS": NEVER},
    "a proof": {"PROOF_PAYS": ALWAYS, "COMPILATION_PAYS": ALWAYS, "REPEATS_PAY": NEVER},
    "repetitions first": {"PROOF_PAYS": ALWAYS, "COMPILATION_PAYS": ALWAYS, "REPEATS_PAY": ALWAYS},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "program", [chain_reduce(8, 600), two_phase_reduce(12, 40, 4)], ids=lambda p: p.name
)
def test_each_way_gives_the_cycles_of_a_run(
    program: Program, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in WAYS[way].items():
        monkeypatch.setattr(program_cycles, name, number)
    expected = Machine(program, WSE2).run().cycles
    assert ProgramCycles(WSE2).cycles(program, expected) == expected


def test_proofs_in_vain_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in WAYS["a proof"].items():
        monkeypatch.setattr(program_cycles, name, number)
    asked: list[int] = []
    monkeypatch.setattr(ProgramCycles, "_proved_cycles", lambda *_: asked.append(1))
    cycles, program = ProgramCycles(WSE2), chain_reduce(4, 16)
    found = {cycles.cycles(program, 100) for _ in range(9)}
    assert len(found) == 1
    assert len(asked) == program_cycles.IN_VAIN + 1


def test_a_run_ends_where_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_cycles, "PROOF_PAYS", NEVER)
    with pytest.raises(RunStoppedError):
        ProgramCycles(WSE2).cycles(chain_reduce(512, 4096), 1, lambda cycles: True)
