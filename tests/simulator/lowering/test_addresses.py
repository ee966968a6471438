"""Addresses of tiles in an element's memory: banks, what is kept there, and too little of it."""

import itertools

import pytest
from grid_mappings import read

from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import ComputeNode, Storage, Temporal
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.lowering.addresses import LeftTensors, Taken, addresses_of, words_of

WORK = (Temporal("m", 1), Temporal("k", 1), Temporal("n", 1), ComputeNode("Z", "Engine"))


def product(bits: int = 32) -> SpaceTime:
    """Z[m, n] = A[m, k] * B[k, n] of 8 x 12 x 6 in one element."""
    whole = ("A", "B", "Z")
    return read([Storage(whole, "Host"), Storage(whole, "SRAM"), *WORK], bits)


@pytest.mark.parametrize("bits", [32, 16])
def test_vectors_that_are_read_together_lie_apart(bits: int) -> None:
    mapped = product(bits)
    addresses = addresses_of(mapped)
    size = bits // 16
    words = {t.name: words_of(t, mapped) for t in mapped.tensors}
    assert words == {"A": 96 * size, "B": 72 * size, "Z": 48 * size}
    assert [addresses.first_word[name] % 8 for name in "ABZ"] == [0, 4, 4]
    assert addresses.words >= (96 + 72 + 48) * size


def test_what_is_kept_is_left_alone() -> None:
    mapped = product()
    kept = LeftTensors(first_word={"A": 200}, taken=(Taken(0, 24), Taken(100, 150)))
    addresses = addresses_of(mapped, kept=kept)
    assert addresses.first_word["A"] == 200
    used = [
        (addresses.first_word[t.name], addresses.first_word[t.name] + words_of(t, mapped))
        for t in mapped.tensors
    ]
    spans = sorted([*used, (0, 24), (100, 150)])
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert addresses.words == max(end for _, end in spans)


def test_too_little_memory_names_the_sizes() -> None:
    with pytest.raises(InfeasibleMapping, match="SRAM of an element has 152 free bytes") as raised:
        addresses_of(product(), reserved_bytes=49_000)
    assert "Z 192, A 384, B 288" in str(raised.value)


def test_a_memory_below_the_machine_s_own_code_has_no_free_bytes() -> None:
    with pytest.raises(InfeasibleMapping, match="SRAM of an element has 0 free bytes") as raised:
        addresses_of(product(), reserved_bytes=50_000)
    assert "more than 50,000 bytes" in str(raised.value)
