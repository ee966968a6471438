"""The cycles of candidates' programs: by repetitions, by a proof, or by a run to the end.

Which of them comes first depends on how long a run would take, and on what proofs have given so
far; the cycles are the same.
"""

from __future__ import annotations

from typing import Final

from tilewright.simulator.execution.einsum_execution import LARGE_GRID
from tilewright.simulator.fast.fast_entries import are_compiled
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.fast.partition_solve import ProofEffort, effort_before
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.shifted_columns import UnsolvedColumns, shifted_cycles
from tilewright.simulator.run.machine import Machine, Stop

PROOF_PAYS: Final = 1 << 16
"""Cycles times elements of a run of some 3 ms (docs/validation/engine-speed.md)."""
COMPILATION_PAYS: Final = 1 << 23
"""Those of a run that is worth some seconds: the kernels are compiled once on a computer."""
MANY: Final = 1 << 27
"""Those of all shorter runs of a search together, when they have taken as long."""
REPEATS_PAY: Final = 1 << 23
"""Those of a run that is worth some seconds: the machine may skip repetitions of most of it."""
REPEATED: Final = 4
"""Then it visits an element in fewer than one of so many cycles; a proof in vain takes as long."""
SLOWER: Final = 8
"""A visit of an element takes up to so many times as long on a large grid, which no cache holds."""
IN_VAIN: Final = 2
"""How many proofs that fail are more than enough, beyond as many that do not."""


class ProgramCycles:
    """Find the cycles of programs of one search on the machine of a profile, one after the other.

    It remembers for how many the fast engine found them (`proved`) and did not (`in_vain`), and the
    visits (cycles times elements) of those before which it would have had to be compiled.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._proved = self._in_vain = self._visits = 0

    def cycles(self, program: Program, least: int, stop: Stop | None = None) -> int:
        """Return the cycles of a program without data.

        `least`: cycles that it takes at least. `stop`: asked with the cycles so far whether the run
        is to end. Raises ProgramError if the machine cannot run it, RunStoppedError where `stop`
        says so.
        """
        elements = program.placement.size
        visits = least * elements
        effort = self._effort(visits, elements)
        if effort is None:
            return self._machine(program, stop).cycles()
        machine: Machine | None = None
        if visits >= REPEATS_PAY:
            machine = self._machine(program, stop)
            cycles = machine.repeating_cycles(visits // REPEATED)
            if cycles is not None:
                return cycles
        cycles = self._proved_cycles(program, least, effort)
        if cycles is not None:
            self._proved += 1
            return cycles
        self._in_vain += 1
        return (machine or self._machine(program, stop)).cycles()

    def _machine(self, program: Program, stop: Stop | None) -> Machine:
        machine = Machine(program, self._profile)
        machine.stop = stop
        return machine

    def _effort(self, visits: int, elements: int) -> ProofEffort | None:
        """Return how much the fast engine does before the reference engine, None for nothing.

        visits: of the run, cycles times elements. It is tried before runs that take longer than it
        mostly does, unless it has mostly been in vain or would have to be compiled for a short run.
        """
        if visits < PROOF_PAYS or self._in_vain > IN_VAIN + self._proved:
            return None
        if not are_compiled() and visits < COMPILATION_PAYS and self._visits < MANY:
            self._visits += visits
            return None
        return effort_before(visits * (SLOWER if elements >= LARGE_GRID else 1))

    def _proved_cycles(self, program: Program, least: int, effort: ProofEffort) -> int | None:
        """Return the cycles by the fast engine, of some columns where these are enough.

        None where the engine finds no times.
        """
        try:
            cycles = shifted_cycles(program, self._profile, least)
        except UnsolvedColumns:
            return None
        if cycles is not None:
            return cycles
        return FastMachine(program, self._profile, effort=effort).cycles
