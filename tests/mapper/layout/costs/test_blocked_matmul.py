"""Blocks of a product: loads against a walk over the loops, buffers, partial sums."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import number_format
from tilewright.mapper.layout.costs.blocked_matmul import BlockedMatmul, Order
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.workload.errors import InfeasibleMapping

TRAINIUM = load_machine("trainium1")
BF16, F32 = number_format("bf16"), number_format("f32")
ORDERS: list[Order] = ["mnk", "mkn", "nmk", "nkm", "kmn", "knm"]
TUTORIAL = BlockedMatmul(
    m=4096, k=8192, n=8192, block=(16, 8, 2), order="nkm", element=BF16, partial=BF16
)


def walked_loads(matmul: BlockedMatmul, dims: str) -> float:
    """Count changes of the block of an operand over a walk through all loops."""
    ranges = [range(matmul.trips[name]) for name in matmul.order]
    last, loads = None, 0
    for index in product(*ranges):
        at = dict(zip(matmul.order, index, strict=True))
        block = tuple(at[name] for name in dims)
        loads += block != last
        last = block
    return loads / (matmul.trips[dims[0]] * matmul.trips[dims[1]])


@given(st.tuples(*[st.integers(1, 3)] * 3), st.sampled_from(ORDERS))
def test_loads_against_a_walk(trips: tuple[int, int, int], order: Order) -> None:
    m, k, n = trips
    matmul = BlockedMatmul(
        m=128 * m, k=128 * k, n=512 * n, block=(1, 1, 1), order=order, element=BF16, partial=F32
    )
    for dims in ("mk", "kn"):
        assert matmul.loads(dims) == walked_loads(matmul, dims)


def test_the_tutorials_blocks() -> None:
    """lhs is loaded for each of 8 blocks of columns, rhs once, partial sums stay in SBUF."""
    assert TUTORIAL.trips == {"m": 2, "k": 8, "n": 8}
    assert (TUTORIAL.loads("mk"), TUTORIAL.loads("kn")) == (8, 1)
    assert TUTORIAL.spills
    assert TUTORIAL.evictions == 32 * 16 * 8
    assert TUTORIAL.hbm_bytes == (8 * 4096 * 8192 * 2, 8192 * 8192 * 2, 4096 * 8192 * 2)
    sizes = {b.name: (b.tile_bytes, b.depth) for b in TUTORIAL.buffers()}
    assert sizes == {
        "blocks of operand 0": (8 * 2048 * 2, 2),
        "blocks of operand 1": (8 * 1024 * 2, 2),
        "partial sums": (32 * 1024 * 2, 1),
    }
    assert TUTORIAL.packed(TRAINIUM).used == 163_840


def test_partial_sums_stay_in_psum_where_k_is_the_innermost_loop() -> None:
    inner = replace(TUTORIAL, order="nmk", block=(2, 8, 1))
    assert not inner.spills
    assert inner.evictions == 32 * 16
    assert replace(inner, block=(3, 8, 1)).spills
    assert not replace(TUTORIAL, block=(16, 64, 2)).spills


def test_the_unit_and_its_buffers_are_named_where_they_do_not_fit() -> None:
    wide = replace(TUTORIAL, partial=F32)
    with pytest.raises(InfeasibleMapping) as caught:
        wide.packed(TRAINIUM)
    assert caught.value.what.startswith("each partition of SBUF of trainium1: step 0 has blocks")
    assert "partial sums (131072 bytes)" in caught.value.what
    assert caught.value.instead == (
        "depth 1 for blocks of operand 0 and depth 1 for blocks of operand 1, which frees "
        "49152 bytes, or tiles of at most 81920 bytes for partial sums"
    )


def test_more_banks_than_psum_has_break_a_rule() -> None:
    assert not TUTORIAL.broken_rules(TRAINIUM)
    (rule,) = replace(TUTORIAL, psum_banks=9).broken_rules(TRAINIUM)
    assert rule.rule == "psum.bank"
    with pytest.raises(SpecError, match="1 or more"):
        replace(TUTORIAL, psum_banks=0)


def test_every_order_is_a_permutation() -> None:
    assert sorted(ORDERS) == sorted("".join(order) for order in permutations("mkn"))
