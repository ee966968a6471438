"""Random programs with switches, filters, wavelet tasks, FIFOs and registers."""

from __future__ import annotations

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st
from machine_programs import random_changes
from run_cases import check_accounts, check_values, digest, digests, interpreted_digests, run
from special_programs import special_case

from tilewright.simulator.program.program import Program

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=20)
@given(SEEDS, SEEDS, st.integers(1, 2**30))
def test_values_and_no_order_of_visits(seed: int, profile_seed: int, shuffle: int) -> None:
    case, changes = special_case(seed), random_changes(profile_seed)
    result = run(case, changes)
    check_values(case, result)
    check_accounts(result)
    assert digest(result) == digest(run(case, changes, shuffle))


def test_compiled_equals_interpreted() -> None:
    """The same kernels as plain Python give every value, cycle and count alike."""
    assert interpreted_digests("special_programs:special_case", 10) == digests(special_case, 10)


def test_programs_differ_in_their_text() -> None:
    """Every kind of program occurs, and their text forms are distinct."""
    from tilewright.simulator.text.printing import print_program

    programs = [special_case(seed).program for seed in range(24)]
    names = {"gather", "scatter", "there_and_back", "swapped", "rings", "buffered"}
    assert {program.name for program in programs} == names
    texts = {print_program(program) for program in programs}
    kept = [field.name for field in dataclasses.fields(Program) if field.name != "placement"]
    different = {repr([getattr(program, name) for name in kept]) for program in programs}
    assert len(texts) == len(different)
