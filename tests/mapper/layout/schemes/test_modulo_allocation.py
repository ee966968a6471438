"""Modulo allocation: the documented function, and the rules of the memories."""

from functools import reduce
from itertools import product
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import number_format
from tilewright.mapper.layout.legality.layout_rules import broken_rules
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.layout.schemes.modulo_allocation import (
    BlockedTensor,
    ModuloAllocation,
    check_not_mixed,
)

PAGE = BlockedTensor.of((4, 128, 512), 1, number_format("f32"))


def documented(base: int, counts: tuple[int, ...], scale: int, index: tuple[int, ...]) -> int:
    """The interface's own function, for counts of full length."""
    shape = counts or (1,) * len(index)
    elements = [reduce(mul, shape[axis + 1 :], 1) for axis in range(len(shape))]
    turns = [i % s for i, s in zip(index, shape, strict=True)]
    return sum(i * n for i, n in zip(turns, elements, strict=True)) * scale + base


@pytest.mark.row("003.01", "003.10", "003.11")
def test_the_documented_table() -> None:
    """Banks 0, 1, 0, 1: one is written while the other is read (layouts.md §7.6)."""
    chosen = ModuloAllocation(base_bank=0, base_addr=0, num_bank_tiles=(2,))
    placement = chosen.place(PAGE)
    places = [(at.bank, at.partition, at.address) for at in map(placement.at, placement.indices())]
    assert places == [(0, 0, 0), (1, 0, 0), (0, 0, 0), (1, 0, 0)]
    assert placement.max_consecutive_live() == 2
    assert placement.clash([(0,), (1,)]) is None
    clash = placement.clash([(0,), (1,), (2,)])
    assert clash is not None
    assert (clash.first, clash.second) == ((0,), (2,))


counts = st.one_of(st.just(()), st.tuples(st.integers(1, 3), st.integers(1, 3)))


@pytest.mark.row("003.02", "003.03", "003.04", "003.05", "003.06", "003.08")
@given(counts, counts, counts, st.tuples(st.integers(1, 4), st.integers(1, 5)))
def test_places_are_those_of_the_documented_function(
    banks: tuple[int, ...],
    partitions: tuple[int, ...],
    free: tuple[int, ...],
    blocks: tuple[int, int],
) -> None:
    chosen = ModuloAllocation(
        base_bank=1,
        base_addr=64,
        base_partition=32,
        num_bank_tiles=banks,
        num_par_tiles=partitions,
        num_free_tiles=free,
    )
    placement, function = chosen.place(BlockedTensor(blocks, 16, 100)), chosen.function()
    for index in product(*map(range, blocks)):
        wanted = (
            documented(1, banks, 1, index),
            documented(32, partitions, 16, index),
            documented(64, free, 100, index),
        )
        at = placement.at(index)
        assert (at.bank, at.partition, at.address) == wanted == function(index, 16, 100)


@pytest.mark.row("003.09", "003.13", "003.15")
@pytest.mark.parametrize(
    ("chosen", "tensor", "rule", "words"),
    [
        (
            ModuloAllocation(base_bank=6, num_bank_tiles=(4,)),
            PAGE,
            "psum.bank",
            "banks 6 to 9 of 0 to 7",
        ),
        (
            ModuloAllocation(),
            BlockedTensor((4,), 128, 2052),
            "psum.bank-size",
            "2052 bytes in banks of 2048",
        ),
        (
            ModuloAllocation(base_addr=4),
            BlockedTensor((4,), 128, 64),
            "psum.base_addr",
            "must be 0",
        ),
        (
            ModuloAllocation(base_partition=32),
            BlockedTensor((4,), 32, 64),
            "psum.base_partition",
            "must be 0",
        ),
        (
            ModuloAllocation(num_free_tiles=(2,)),
            BlockedTensor((4,), 128, 64),
            "psum.num_free_tiles",
            "ones",
        ),
        (
            ModuloAllocation(space="sbuf", num_par_tiles=(2,)),
            BlockedTensor((2,), 48, 512),
            "sbuf.start-partition",
            "48 partitions starts at 48",
        ),
        (
            ModuloAllocation(space="sbuf", num_par_tiles=(2,)),
            PAGE,
            "sbuf.partition",
            "partitions 128 to 255",
        ),
        (
            ModuloAllocation(space="sbuf", num_free_tiles=(89,)),
            BlockedTensor((89,), 128, 2048),
            "sbuf.address",
            "bytes 0 to 182272 of 180224: 2048 too many",
        ),
        (ModuloAllocation(space="sbuf", base_bank=1), PAGE, "sbuf.bank", "banks 1 to 1 of 0 to 0"),
        (
            ModuloAllocation(num_bank_tiles=(2,)),
            BlockedTensor((4, 4), 128, 64),
            "psum.counts-length",
            "1 counts, the tensor 2 block",
        ),
    ],
)
def test_broken_rules_have_names_and_numbers(
    chosen: ModuloAllocation, tensor: BlockedTensor, rule: str, words: str
) -> None:
    broken = {found.rule: found for found in chosen.broken_rules(tensor)}
    assert words in broken[rule].what
    assert broken[rule].numbers
    assert str(broken[rule]).startswith(f"{rule}: ")


def test_88_tiles_of_2_kib_fit_exactly() -> None:
    full = ModuloAllocation(space="sbuf", num_free_tiles=(88,))
    assert full.broken_rules(BlockedTensor((88,), 128, 2048)) == ()


@pytest.mark.row("003.12", "003.14")
def test_short_counts_and_mixed_kernels_are_refused() -> None:
    with pytest.raises(SpecError, match="num_bank_tiles has 1 counts, the tensor 2"):
        ModuloAllocation(num_bank_tiles=(2,)).place(BlockedTensor((4, 4), 128, 64))
    with pytest.raises(SpecError, match="a is allocated automatically and b by address"):
        check_not_mixed(["a"], ["b"])
    check_not_mixed([], ["b"])
    with pytest.raises(SpecError, match="partition dimension"):
        BlockedTensor.of((512,), 1, number_format("f32"))


@given(
    st.tuples(st.integers(1, 4), st.integers(1, 3)),
    st.lists(st.integers(1, 5), max_size=2),
    counts,
    counts,
)
def test_the_layout_has_the_places_of_the_allocation(
    blocks: tuple[int, int], free: list[int], partitions: tuple[int, ...], turns: tuple[int, ...]
) -> None:
    """Every scalar of a tensor in SBUF: place of its block, its partition, row-major bytes."""
    shape, bf16 = (*blocks, 32, *free), number_format("bf16")
    chosen = ModuloAllocation(
        space="sbuf", base_addr=64, num_par_tiles=partitions, num_free_tiles=turns
    )
    tensor = BlockedTensor.of(shape, len(free), bf16)
    layout, placement = chosen.layout(shape, len(free), bf16), chosen.place(tensor)
    for index in product(*(range(0, extent, 1 + extent // 4) for extent in shape)):
        at, block, inside = layout.locate(index), placement.at(index[:2]), 0
        for extent, position in zip(free, index[3:], strict=True):
            inside = inside * extent + position
        assert (at.bank, at.partition) == (block.bank, block.partition + index[2])
        assert at.address == block.address + 2 * inside
        assert layout.index_at(at) == index
    assert layout.bytes_per_unit == placement.physical_tiles * 32 * tensor.free_bytes
    rules = broken_rules(layout, load_machine("trainium1"), ("phantom", "uneven"))
    assert {rule.rule for rule in rules} == {r.rule for r in chosen.broken_rules(tensor)}
