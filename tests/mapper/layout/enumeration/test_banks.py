"""Which reads meet on a bank: the rule of the machine, and packings that avoid it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.enumeration.banks import Banks
from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.layout.packing.packing import packings
from tilewright.simulator.compile.code.bank_costs import BankRead, meet

WSE2 = Banks(alignment=8, banks=8, word_bytes=2, read_words=4)


@given(st.integers(0, 100), st.integers(0, 100), st.sampled_from([1, 2, 4, 8]))
def test_reads_meet_where_the_machine_says_so(first: int, second: int, words: int) -> None:
    """Each source reads `words` 16-bit words per step (theory/wafer.md §2.1)."""
    reads = [BankRead(at, 1, (64,), (1,)) for at in (first, second)]
    banks = Banks(banks=8, word_bytes=2, read_words=words)
    assert banks.meet(2 * first, 2 * second) == meet(*reads, first - second, words)


def test_a_residue_is_a_choice_of_banks() -> None:
    """Buffers of the element are aligned to 64 bits, so half of the banks or the other half."""
    assert WSE2.round_bytes == 16
    assert WSE2.residues == (0, 8)
    assert not WSE2.meet(0, 8)
    assert WSE2.meet(0, 16)
    assert Banks().residues == (0,)
    assert not Banks().meet(0, 0)
    assert Banks(alignment=6, banks=4).residues == (0, 6)


def test_meetings_of_a_packing() -> None:
    requests = [
        BufferRequest(name=name, tile_bytes=16, modulus=16, residues=WSE2.residues)
        for name in ("A", "B")
    ]
    found = {
        tuple(buffer.address % 16 for buffer in packed.buffers): WSE2.meetings(packed, ("A", "B"))
        for packed in packings(requests, 100)
    }
    assert found == {(0, 0): [("A", "B")], (0, 8): [], (8, 0): [], (8, 8): [("A", "B")]}
    assert not any(WSE2.meetings(packed, ("A",)) for packed in packings(requests, 100))


def test_numbers_below_one_are_refused() -> None:
    with pytest.raises(SpecError, match="1 or more"):
        Banks(banks=0)
