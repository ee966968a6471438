"""What of a code decides on memory banks: the sources of operations whose reads may meet."""

from __future__ import annotations

import pytest
from stream_program import STREAM

from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.repetition.bank_places import BankPlaces, bank_places
from tilewright.simulator.text.parsing import parse_program

LOOP = "      @fmuls all, all, #2.0\n"


def places_of(line: str) -> BankPlaces:
    text = STREAM.replace(LOOP, "".join(f"      {part}\n" for part in line.split("; ")))
    of = Machine(parse_program(text, "stream.txt"), load_profile("wse2-sdk-sim"))
    (places,) = bank_places(of.compiled)
    return places


@pytest.mark.parametrize(
    ("line", "modulus"),
    [
        ("@fadds two, two, two[2*i]", 2),  # 4 words of 8 banks
        ("@fadds two, two, two[i]", 4),  # 2 words: f32
        ("@fadds two, two, two[4*i]", 1),  # whole rounds: known before the run
        ("@fadds two[i], two, two", 1),  # a write meets no read
        ("@fmuls two, two, v(i)", 1),  # a scalar
        ("@fmovs two, two[i]", 1),  # reads one vector
        ("x = add.f32 v(i), #1.0", 1),
    ],
)
def test_the_counters_that_count(line: str, modulus: int) -> None:
    places = places_of(line)
    assert places.modulus(0) == modulus
    assert not places.registers
    assert places.operations.any() == (modulus > 1)


def test_registers_count_where_their_vectors_may_meet() -> None:
    loads = "load %dsr_src0 1 two; load %dsr_src1 1 two[i] save_address; load %dsr_dest 1 two"
    meets = places_of(f"{loads}; @fadds %dsr_dest 1, %dsr_src0 1, %dsr_src1 1")
    assert (meets.registers, meets.modulus(0)) == (True, 4)
    moves = places_of(f"{loads}; @fmovs %dsr_dest 1, %dsr_src1 1")
    assert (moves.registers, moves.modulus(0)) == (False, 1)
    assert not moves.operations.any()
