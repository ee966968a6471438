"""The cascade search against every fused mapping of small workloads, scored by the model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from backed_cases import random_backed_case
from compared import OBJECTIVES, compare
from copied_cases import random_copied_case, random_deep_copied_case, random_spread_copied_case
from deep_cases import random_dealt_case, random_exchanged_case
from explore import at_night, enough
from fused_cases import (
    CHAINS,
    _memory,
    random_bounded_case,
    random_case,
    random_deep_case,
    random_halo_case,
    random_narrow_case,
    random_ordered_case,
    random_shaped_case,
    random_spread_case,
    random_wide_case,
    random_window_case,
    two_memories,
    workload_of,
)
from fused_owns import Subject
from fused_tolls import random_toll_case
from padded_cases import random_padded_case
from used_cases import random_used_case

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.arch.spec.printing import dump_arch
from tilewright.mapper.workload.workload import Workload

Case = Callable[[int], tuple[Arch, Workload, str]]


def check(seed: int, objective: str, case: Case = random_case) -> bool:
    """Compare the two optima; False if there are too many mappings to enumerate, or where the
    search restricts what it exchanges in the innermost memory."""
    deep = case in (random_exchanged_case, random_dealt_case)
    compared = compare(Subject(*case(seed), deep=deep), objective)
    return compared is not None and not compared.restricted


@pytest.mark.parametrize("seed", [0, 4, *at_night(1, 2, 3, 5, 6, 7, 8, 9, 10, 11)])
def test_fused_optimum(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3]) or seed > 0


@pytest.mark.parametrize("seed", [0, *at_night(1, 2, 3)])
def test_fused_optimum_in_a_given_order(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_ordered_case) or seed > 0


def test_fused_optimum_where_holders_stream_past_what_is_exchanged() -> None:
    """An order that puts weights above the exchanged tensor, in whose tiles they may still come."""
    assert check(2001, "energy", partial(random_ordered_case, conventions="default"))


def test_fused_optimum_in_an_order_that_the_tree_does_not_show() -> None:
    """C precedes Y, which Einsums exchange above it: its tile stays there, 1 bit more than fits."""
    order = ", tensor_order_options: [[weight, output | input]]"
    text = dump_arch(two_memories(8, 5, 1, order))
    place = text.index("  - !Compute")
    registers = _memory("REG", "3", "keep: output", (0.5, 128))
    arch = load_arch(text[:place] + registers + text[place:])
    work = workload_of(CHAINS[2], {"m": 4, "k": 2, "n": 2})
    assert check(0, "energy", lambda _: (arch, work, "accelforge"))


@pytest.mark.parametrize("seed", [1, 12, *at_night(0, 2, 3, 4, 6, 15, 24)])
def test_fused_optimum_below_lanes(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_spread_case)


@pytest.mark.parametrize("seed", [2, 13, *at_night(3, 8, 9, 11, 22, 24)])
def test_fused_optimum_with_bounds_of_lanes(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_bounded_case)


@pytest.mark.parametrize("seed", [0, 1, *at_night(2, 3, 4, 5)])
def test_fused_optimum_over_padded_tensors(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_padded_case)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_fused_optimum_with_bounds_of_lanes_of_many(block: int) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert enough(sum(check(seed, OBJECTIVES[seed % 3], random_bounded_case) for seed in seeds), 5)


@pytest.mark.parametrize("seed", [0, *at_night(1, 2, 3, 4)])
def test_fused_optimum_with_a_prescribed_tile(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_shaped_case)


@pytest.mark.parametrize("seed", [0, *at_night(1, 2, 3, 4)])
def test_fused_optimum_below_a_small_outermost_memory(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_narrow_case) or seed > 0


@pytest.mark.parametrize("seed", [0, 2, *at_night(1, 18, 19)])
def test_fused_optimum_of_convolutions(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_halo_case)


@pytest.mark.parametrize("seed", [3, *at_night(5, 22, 26)])
def test_fused_optimum_where_widths_differ(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_wide_case)


@pytest.mark.parametrize("seed", [0, *at_night(1, 2, 3)])
def test_fused_optimum_where_windows_differ(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_window_case)


@pytest.mark.parametrize("seed", [0, *at_night(1, 2, 3, 4, 5)])
def test_fused_optimum_above_registers(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_deep_case) or seed > 0


@pytest.mark.parametrize("seed", [0, 2, *at_night(1, 3, 4, 5)])
def test_fused_optimum_exchanged_in_two_memories(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_exchanged_case)


@pytest.mark.parametrize("seed", [0, 18, *at_night(8, 15, 23, 29)])
def test_fused_optimum_exchanged_below_lanes_under_a_memory(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_dealt_case)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
@pytest.mark.parametrize("case", [random_exchanged_case, random_dealt_case])
def test_fused_optimum_exchanged_in_two_memories_of_many(block: int, case: Case) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert enough(sum(check(seed, OBJECTIVES[seed % 3], case) for seed in seeds), 5)


@pytest.mark.parametrize("seed", [0, 2, *at_night(1, 3, 4, 5, 6, 7, 8, 9, 10, 11)])
def test_fused_optimum_with_copies(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_copied_case) or seed > 0


@pytest.mark.parametrize("seed", [0, *at_night(1, 2, 3)])
def test_fused_optimum_with_copies_above_registers(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_deep_copied_case) or seed > 0


@pytest.mark.parametrize("seed", [0, 5, *at_night(3, 7, 13, 21, 26)])
def test_fused_optimum_with_copies_below_lanes(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_spread_copied_case)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
@pytest.mark.parametrize(
    "case", [random_copied_case, random_deep_copied_case, random_spread_copied_case]
)
def test_fused_optimum_with_many_copies(block: int, case: Case) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert enough(sum(check(seed, OBJECTIVES[seed % 3], case) for seed in seeds), 5)


@pytest.mark.parametrize("seed", [3, 9, *at_night(8)])
def test_fused_optimum_with_a_toll(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_toll_case)


@pytest.mark.parametrize("seed", [0, 4, *at_night(3, 7, 19, 20, 23)])
def test_fused_optimum_on_lanes_that_must_be_used(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_used_case)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_fused_optimum_on_lanes_that_must_be_used_of_many(block: int) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert enough(sum(check(seed, OBJECTIVES[seed % 3], random_used_case) for seed in seeds), 5)


@pytest.mark.parametrize("seed", [0, 18, *at_night(1, 2, 6, 11, 21)])
def test_fused_optimum_where_only_the_buffer_has_a_tensor(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3], random_backed_case)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_fused_optimum_where_only_the_buffer_has_many_tensors(block: int) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert enough(sum(check(seed, OBJECTIVES[seed % 3], random_backed_case) for seed in seeds), 5)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_fused_optimum_of_many(block: int) -> None:
    done = [check(1000 + seed, OBJECTIVES[seed % 3]) for seed in range(block * 10, block * 10 + 10)]
    assert enough(sum(done), 5)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(8))
def test_fused_optimum_above_registers_of_many(block: int) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert enough(sum(check(seed, OBJECTIVES[seed % 3], random_deep_case) for seed in seeds), 5)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_fused_optimum_of_many_convolutions(block: int) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert enough(sum(check(seed, OBJECTIVES[seed % 3], random_halo_case) for seed in seeds), 5)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize(
    "case",
    [
        random_shaped_case,
        random_ordered_case,
        random_narrow_case,
        random_spread_case,
        random_wide_case,
        random_window_case,
        random_toll_case,
        random_padded_case,
    ],
)
def test_fused_optimum_under_rules_of_many(block: int, case: Case) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert enough(sum(check(seed, OBJECTIVES[seed % 3], case) for seed in seeds), 2)
