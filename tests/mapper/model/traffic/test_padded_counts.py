"""Zeros of padded ranks in the counts of the model, worked by hand (model.md §3.7)."""

from __future__ import annotations

import random

import pytest
from one_einsum import ARCH

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.workload.workload_loading import load_workload

CONVOLUTION = "Z[P: p] = A[P: p + r - 1] * B[r]"
NODES = """\
- !Storage {tensors: [A, B, Z], component: DRAM}
- !Temporal {rank_variable: p, tile_shape: 7}
- !Storage {tensors: [A], component: BUF}
"""
INNER = """\
- !Temporal {rank_variable: r, tile_shape: 1}
- !Temporal {rank_variable: p, tile_shape: 1}
- !Compute {einsum: Z, component: MAC}
"""


def score(
    einsum: str, nodes: str, conventions: str = "default", arch: str = ARCH, size: int = 14
) -> Score:
    workload = load_workload(
        f"workload:\n  rank_sizes: {{P: {size}, R: 3}}\n  pad: {{P: 2}}\n"
        "  bits_per_value: {All: 1}\n"
        f"  einsums:\n  - {{einsum: '{einsum}'}}\n"
    )
    lines = "".join(f"  {line}\n" for line in nodes.splitlines())
    mapping = load_mapping(f"mapping:\n  nodes:\n{lines}")
    return score_mapping(load_arch(arch), workload, mapping, conventions)


@pytest.mark.parametrize(
    ("conventions", "fetched", "read"), [("default", 16, 40), ("accelforge", 18, 42)]
)
def test_tiles_count_inside_the_tensor(conventions: str, fetched: int, read: int) -> None:
    found = score(CONVOLUTION, NODES + INNER, conventions)
    assert found.actions["Z/DRAM/A/read"] == fetched
    assert found.actions["Z/BUF/A/write"] == fetched
    assert found.actions["Z/BUF/A/read"] == read
    assert found.actions["Z/MAC/None/compute"] == 42
    assert found.memory_bits["Z/DRAM/A"] == 16  # the whole window


def test_an_index_of_one_variable_that_only_begins_outside() -> None:
    """`A[P: p - 2]` leaves the rank before its first value alone: 12 of 14 values are read."""
    nodes = NODES + INNER
    found = score("Z[P: p] = A[P: p - 2] * B[r]", nodes)
    assert found.actions["Z/DRAM/A/read"] == 12
    assert found.actions["Z/BUF/A/read"] == 3 * 12


@pytest.mark.parametrize(("fanout", "seconds"), [(False, 14 + 40), (True, 16 + 42)])
def test_time_below_a_fanout_counts_whole_windows(fanout: bool, seconds: int) -> None:
    arch = ARCH.replace("throughput: inf", "throughput: 1")
    if fanout:
        arch = arch.replace("size: 10000\n", "size: 10000\n    spatial: [{name: x, fanout: 2}]\n")
    nodes = (
        "- !Storage {tensors: [A, B, Z], component: DRAM}\n"
        "- !Storage {tensors: [A], component: BUF}\n" + INNER
    )
    found = score("Z[P: p] = A[P: p + r - 1] * B[r]", nodes, arch=arch)
    assert found.actions["Z/BUF/A/read"] == 40
    assert found.actions["Z/BUF/A/write"] == 14
    assert found.latency_by["Z/BUF"] == seconds


def cut(tiles: list[tuple[int, int]], tile: int, first: int | None) -> list[tuple[int, int]]:
    """Cut each (start, end) as a loop does."""
    found = []
    for start, end in tiles:
        at, step = start, first or tile
        while at < end:
            found.append((at, min(at + step, end)))
            at, step = at + step, tile
    return found


def test_chains_of_uneven_loops_equal_a_walk_of_their_tiles() -> None:
    """Loops that cut and cut again, some with a first tile of another size: 24 in 12, 8, 3."""
    for seed in range(60):
        rng = random.Random(seed)
        left, tiles, lines = 24, [(0, 24)], []
        for tile in (12, 8, 3) if seed == 0 else sorted(rng.sample(range(1, 25), 4))[::-1]:
            first = rng.choice((None, None, None, rng.randrange(1, left + 1))) if seed else None
            tiles, left = cut(tiles, tile, first), max(tile, first or 0)
            named = f", initial_tile_shape: {first}" if first else ""
            lines.append(f"- !Temporal {{rank_variable: p, tile_shape: {tile}{named}}}\n")
        nodes = "- !Storage {tensors: [A, B, Z], component: DRAM}\n" + "".join(lines)
        nodes += "- !Storage {tensors: [A], component: BUF}\n" + INNER
        windows = [range(start - 1, end + 1) for start, end in tiles]
        inside = sum(0 <= x < 24 for window in windows for x in window)
        assert score(CONVOLUTION, nodes, size=24).actions["Z/DRAM/A/read"] == inside, seed
