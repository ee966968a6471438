"""The memories of a fused search: which ones, how large, and where they may be too small."""

from __future__ import annotations

from math import inf

import pytest
from fused_cases import two_text
from fused_example import WORKLOAD, machine, paths_of

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.boundary.exchange_memories import exchange_memories
from tilewright.mapper.workload.errors import UnsupportedFeature

WHOLE = {"A": 8.0, "B": 4.0, "Y": 8.0, "Z": 8.0, "C": 4.0}  # bits


def test_the_second_memory_has_a_capacity_where_not_all_tiles_fit() -> None:
    """Both Einsums have whole tiles of their own: A, B, Y and Y, C, Z, 20 bits each."""
    for size, capacity in ((39, 39.0), (40, inf)):
        memories = exchange_memories(paths_of(WORKLOAD, machine(size)))
        assert (memories.outermost, memories.second) == ("DRAM", "BUF")
        assert memories.capacities == (capacity,)
        assert memories.crowded == ({"BUF"} if capacity < inf else frozenset())
        assert memories.maybe_full == ("BUF",)


def test_the_outermost_memory_counts_where_it_cannot_hold_every_tensor() -> None:
    """The tensors have 32 bits in all."""
    text = two_text(12, (100, 1))
    for size in (32, 31):
        paths = paths_of(WORKLOAD, load_arch(text.replace("size: inf", f"size: {size}")))
        capacity = exchange_memories(paths).outermost_capacity
        assert (capacity is None) == (size == 32)
    assert capacity is not None
    assert capacity.tensor_bits == WHOLE
    assert capacity.fits(frozenset("ABCY"))
    assert not capacity.fits(frozenset("ABCYZ"))


def test_einsums_must_see_the_same_second_memory() -> None:
    first, second = paths_of(WORKLOAD, machine(12))[0], paths_of(WORKLOAD, machine(8))[1]
    with pytest.raises(UnsupportedFeature, match="different memories as the second memory"):
        exchange_memories([first, second])
