"""Packing of buffers against trying every address."""

from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.layout.packing.packing import (
    PackedBuffer,
    PackedMemory,
    fits,
    pack,
    packings,
)
from tilewright.mapper.workload.errors import InfeasibleMapping


def test_buffers_that_never_live_together_share_addresses() -> None:
    early = BufferRequest(name="A", tile_bytes=60, first=0, last=1)
    late = BufferRequest(name="B", tile_bytes=60, first=2, last=3)
    both = BufferRequest(name="C", tile_bytes=40, first=0, last=3)
    packed = pack([early, late, both], 100)
    assert packed.used == 100
    assert packed.buffer("A").address == packed.buffer("B").address
    assert [b.request.name for b in packed.alive(2)] == ["B", "C"]


def test_a_residue_chooses_the_bank() -> None:
    """8 banks of one 16-bit word each: operands of one operation start on different banks."""
    a = BufferRequest(name="a", tile_bytes=64, modulus=16, residues=(0,))
    b = BufferRequest(name="b", tile_bytes=64, modulus=16, residues=(0, 4, 8))
    found = [packed.buffer("b").address % 16 for packed in packings([a, b], 144)]
    assert found == [0, 4, 8]
    assert [p.buffer("b").address for p in packings([a, b], 132)] == [64, 68]


def test_depth_makes_a_rotation() -> None:
    stream = BufferRequest(name="s", tile_bytes=100, depth=2, modulus=32)
    placement = pack([stream], 300).buffer("s").placement(4)
    assert [placement.at((i,)).address for i in range(4)] == [0, 128, 0, 128]
    assert placement.max_consecutive_live() == 2


def test_no_room_names_the_tiles_alive_and_the_smallest_change() -> None:
    requests = [
        BufferRequest(name="A", tile_bytes=30, depth=3, first=0, last=4),
        BufferRequest(name="B", tile_bytes=20, depth=2, first=2, last=3),
        BufferRequest(name="C", tile_bytes=90, first=5, last=6),
    ]
    with pytest.raises(InfeasibleMapping) as caught:
        pack(requests, 115)
    assert caught.value.what == (
        "step 2 has A (3 × 30 bytes), B (2 × 20 bytes) alive: 130 of 115 bytes"
    )
    assert caught.value.instead == (
        "depth 1 for B, which frees 20 bytes, or tiles of at most 25 bytes for A"
    )
    pack([replace(requests[0], tile_bytes=25), *requests[1:]], 115)
    with pytest.raises(InfeasibleMapping):
        pack([replace(requests[0], tile_bytes=26), *requests[1:]], 115)
    assert not fits(requests, 115)
    assert fits(requests, 130)
    with pytest.raises(InfeasibleMapping) as caught:
        pack([BufferRequest(name="A", tile_bytes=30)], 20, "core (0, 3)")
    assert caught.value.what == "core (0, 3): step 0 has A (30 bytes) alive: 30 of 20 bytes"
    assert caught.value.instead == "tiles of at most 20 bytes for A"
    with pytest.raises(InfeasibleMapping, match="alignments, banks and lifetimes leave no"):
        pack([BufferRequest(name=n, tile_bytes=5, modulus=16) for n in "AB"], 20)


def test_several_depths_change_where_one_is_not_enough() -> None:
    """Each buffer may halve: both must."""
    requests = [BufferRequest(name=name, tile_bytes=50, depth=2) for name in "AB"]
    with pytest.raises(InfeasibleMapping) as caught:
        pack(requests, 100)
    assert caught.value.instead == ("depth 1 for A and depth 1 for B, which frees 100 bytes")


def test_wrong_requests_and_overlaps_are_refused() -> None:
    with pytest.raises(SpecError, match="residues are 0 to 3"):
        BufferRequest(name="A", tile_bytes=1, modulus=4, residues=(4,))
    with pytest.raises(SpecError, match="ends after it starts"):
        BufferRequest(name="A", tile_bytes=1, first=2, last=1)
    a, b = (BufferRequest(name=name, tile_bytes=8) for name in "ab")
    with pytest.raises(SpecError, match="a and b are alive together and both have byte 4"):
        PackedMemory(64, (PackedBuffer(a, 0), PackedBuffer(b, 4)))
    with pytest.raises(SpecError, match="ends at 68 of 64"):
        PackedMemory(64, (PackedBuffer(a, 60),))


requests = st.integers(1, 4).flatmap(
    lambda count: st.tuples(*(
        st.builds(
            lambda size, depth, first, length, modulus, residues, name=name: BufferRequest(
                name=name, tile_bytes=size, depth=depth, first=first, last=first + length,
                modulus=modulus, residues=tuple(sorted({r % modulus for r in residues})),
            ),
            st.integers(1, 5), st.integers(1, 2), st.integers(0, 3), st.integers(0, 2),
            st.integers(1, 4), st.lists(st.integers(0, 3), min_size=1, max_size=2),
        )
        for name in "ABCD"[:count]
    ))
)  # fmt: skip


def tried(chosen: tuple[BufferRequest, ...], residues: tuple[int, ...], capacity: int) -> bool:
    """Try every address of every buffer."""
    spots = [
        [a for a in range(capacity - r.bytes + 1) if a % r.modulus == residue]
        for r, residue in zip(chosen, residues, strict=True)
    ]
    return any(
        all(
            not p.alive_with(q) or a + p.bytes <= b or b + q.bytes <= a
            for (p, a), (q, b) in combinations(zip(chosen, addresses, strict=True), 2)
        )
        for addresses in product(*spots)
    )


@given(requests, st.integers(4, 16))
def test_a_packing_is_found_iff_there_is_one(
    chosen: tuple[BufferRequest, ...], capacity: int
) -> None:
    choices = list(product(*(r.residues for r in chosen)))
    possible = [residues for residues in choices if tried(chosen, residues, capacity)]
    if not possible:
        with pytest.raises(InfeasibleMapping, match="alive: "):
            pack(chosen, capacity)
        with pytest.raises(InfeasibleMapping):
            list(packings(chosen, capacity))
        return
    found = list(packings(chosen, capacity))
    banks = [tuple(b.address % b.request.modulus for b in packed.buffers) for packed in found]
    assert banks == possible
    assert pack(chosen, capacity) == found[0]
    for packed in found:  # no two live tiles overlap, byte by byte
        for step in range(7):
            used = [
                byte
                for b in packed.alive(step)
                for turn in range(b.request.depth)
                for byte in range(
                    b.address + turn * b.request.stride,
                    b.address + turn * b.request.stride + b.request.tile_bytes,
                )
            ]
            assert len(used) == len(set(used))
            assert all(0 <= byte < capacity for byte in used)
