"""Cycles of a grid from pieces of it, beside the reference engine on the whole grid."""

import numpy as np
import pytest
from explore import at_night
from piece_programs import piece_program
from tests.agreement.test_column_cycles import mapped_programs, profile_of, whole_cycles

from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.line_blocks import Digests
from tilewright.simulator.quotient.pattern_cycles import bands_of, pattern_cycles
from tilewright.simulator.quotient.pieces import column_pieces, piece_cycles
from tilewright.simulator.quotient.pieces.piece_cycles import cycles_by_pieces

WSE3 = load_profile("wse3-sdk-sim")


def elements_of_proof(program: Program, profile: Profile) -> int:
    """Compare a program's cycles with those of the whole grid, if its pieces prove them.

    Return how many elements were simulated, 0 without a proof.
    """
    try:
        cycles, elements = cycles_by_pieces(program, profile, program.placement.size)
    except NotCovered:
        return 0
    assert cycles == whole_cycles(program, profile)
    return elements


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 110))])
def test_drawn_programs(part: int) -> None:
    seeds = range(15 * part, 15 * (part + 1))
    programs = {seed: piece_program(seed) for seed in seeds}
    elements = [elements_of_proof(program, profile_of(s)) for s, program in programs.items()]
    sizes = [program.placement.size for program in programs.values()]
    assert sum(0 < few < size for few, size in zip(elements, sizes, strict=True)) >= 2


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("size", [(16, 8), *at_night((12, 6), (24, 9), (32, 12), (20, 16))])
def test_mappings(size: tuple[int, int], bits: int) -> None:
    """Sums along rows, then columns, whose results leave the grid one behind the other."""
    programs = list(mapped_programs(4, *size, most=12, bits=bits))
    assert any(0 < elements_of_proof(p, WSE3) < p.placement.size for p in programs)


def test_the_pattern_has_cycles_by_pieces() -> None:
    """Sums along the rows leave no column alone, and results that leave join all rows."""
    program = next(mapped_programs(4, 16, 16, most=12))
    found = pattern_cycles(program, WSE3)
    assert (found.cycles, found.elements) == (whole_cycles(program, WSE3), 46)
    assert bands_of(program, WSE3) is program


def test_a_word_that_waits_between_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof is refused; without the check the cycles would be wrong."""
    program = piece_program(58)
    with pytest.raises(NotCovered, match="words wait between two pieces"):
        cycles_by_pieces(program, WSE3, program.placement.size)
    monkeypatch.setattr(piece_cycles, "_waited", lambda *_: False)
    assert cycles_by_pieces(program, WSE3, program.placement.size)[0] != whole_cycles(program, WSE3)


def test_rows_with_the_same_routes_but_later_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are of two kinds; as one kind they would prove wrong cycles."""
    program = piece_program(56)
    assert elements_of_proof(program, WSE3)
    monkeypatch.setattr(column_pieces, "_digests_of_words", lambda _, rows: no_digests(rows))
    assert cycles_by_pieces(program, WSE3, program.placement.size)[0] != whole_cycles(program, WSE3)


def no_digests(rows: int) -> Digests:
    return np.zeros((rows, 2), dtype=np.uint64)
