"""Tiles that live at the same time, and memories that are too small."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from fused_cases import two_memories

from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import Temporal
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.model.occupancy.capacity import (
    check_capacity,
    check_parts,
    loops_above_exchanged,
    loops_above_the_split,
    one_per_einsum,
    one_per_storage,
    peak_bits,
    peak_parts,
)
from tilewright.mapper.model.occupancy.occupancy import Occupancy, PathOccupancies
from tilewright.mapper.model.paths.path import Path, Split
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload

WORK = """
workload:
  rank_sizes: {P: 4, R: 3, W: 6, N: 8}
  bits_per_value: {All: 1}
  einsums:
  - "Y[p] = A[W: p + r] * F[r]"
  - "Z[p, n] = Y[p] * C[n]"
"""
ABOVE = "  - !Storage {tensors: [A], component: BUF}\n"
LOOP = "  - !Temporal {rank_variable: p, tile_shape: 1}\n"
MAPPING = """
mapping:
  nodes:
  - !Storage {tensors: [A, F, Z], component: DRAM}
HOLDERS  - !Storage {tensors: [Y], component: BUF}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Temporal {rank_variable: r, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
    - !Nested
      nodes:
      - !Storage {tensors: [C], component: BUF}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: Z, component: MAC}
"""


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
@pytest.mark.parametrize(("holders", "reads"), [(ABOVE + LOOP, 6), (LOOP + ABOVE, 4 * 3)])
def test_what_waits_of_a_window_is_not_counted_while_another_einsum_runs(
    holders: str, reads: int, conventions: str
) -> None:
    """A above the loop comes once, so 2 of its 3 values wait while Z runs; below it none does."""
    mapping = load_mapping(MAPPING.replace("HOLDERS", holders))
    score = evaluate(two_memories("inf"), load_workload(WORK), mapping, conventions)
    assert score.actions["Y/DRAM/A/read"] == reads
    assert score.capacity["BUF"] == max(3 + 1, 1 + 8)


def tile(tensor, bits, origin, loops_above=0, memory="BUF", **flags):
    """A tile of one bit per value; `origin`: the number of its Storage node."""
    settings = {"persistent": False, "backing": False, **flags}
    return Occupancy(
        memory, tensor, bits, 1, origin, loops_above, key=f"E/{memory}/{tensor}", **settings
    )


def einsum(*tiles, loops=0, branch=0, shared=0):
    """An Einsum below a Sequential that stands below `shared` loops."""
    steps = tuple(Temporal("m", 1) for _ in range(loops))
    split = Split(number=9, branch=branch, position=shared)
    path = Path("E", "MAC", steps, tuple(range(loops)), (split,))
    return PathOccupancies(path, tiles)


def test_tiles_above_shared_loops_survive_the_turns_of_the_other_einsum() -> None:
    """A above the shared loop lives while both run; B below it while its own Einsum does."""
    bodies = [
        einsum(tile("A", 5, 1, 0), tile("B", 3, 2, 1), loops=2, branch=0, shared=1),
        einsum(tile("C", 4, 3, 1), loops=2, branch=1, shared=1),
    ]
    assert loops_above_the_split(bodies) == [1]
    assert peak_bits(bodies, loops_above_the_split, one_per_storage) == {"BUF": max(5 + 3, 5 + 4)}
    # Nothing is exchanged, so AccelForge sees no shared loop.
    assert loops_above_exchanged(bodies) == [0]
    assert peak_bits(bodies, loops_above_exchanged, one_per_einsum) == {"BUF": 5 + 3}


def test_exchanged_tensors_live_from_the_first_user_to_the_last() -> None:
    """T is left by the first Einsum for the third; the second has a tile of 7 beside it."""
    exchanged = tile("T", 10, 1, 0, backing=True)
    bodies = [
        einsum(exchanged, tile("A", 1, 2), branch=0),
        einsum(tile("B", 7, 3), branch=1),
        einsum(exchanged, tile("C", 2, 4), branch=2),
        einsum(tile("D", 12, 5), branch=3),
    ]
    assert peak_bits(bodies, loops_above_the_split, one_per_storage) == {"BUF": 10 + 7}


def test_persistent_tiles_live_all_the_time() -> None:
    bodies = [
        einsum(tile("W", 6, 1, -1, persistent=True), branch=0),
        einsum(tile("B", 7, 3), branch=1),
    ]
    assert peak_bits(bodies, loops_above_the_split, one_per_storage) == {"BUF": 13}


def test_a_storage_is_one_tile_or_one_per_einsum() -> None:
    """X is not backed in the buffer; both Einsums use the same Storage above one shared loop."""
    common = tile("X", 4, 1, 0)
    bodies = [
        einsum(common, tile("T", 1, 2, 0, backing=True), loops=1, branch=number, shared=1)
        for number in (0, 1)
    ]
    assert peak_bits(bodies, loops_above_the_split, one_per_storage) == {"BUF": 4 + 1}
    assert peak_bits(bodies, loops_above_the_split, one_per_einsum) == {"BUF": 4 + 4 + 1}


def test_a_memory_that_is_too_small_is_named_with_its_largest_tiles() -> None:
    bodies = [einsum(tile("A", 5, 1), tile("B", 8, 2))]
    path = replace(bodies[0].path, origins=(1, 2))
    bodies = [PathOccupancies(path, bodies[0].occupancies)]
    peaks = peak_bits(bodies, loops_above_the_split, one_per_storage)
    check_capacity(bodies, peaks, {"BUF": 13})  # equality is allowed
    with pytest.raises(InfeasibleMapping) as caught:
        check_capacity(bodies, peaks, {"BUF": 12})
    assert caught.value.what == "the tiles in BUF need 13 bits, but its size is 12 bits"
    assert caught.value.value == 13.0
    assert str(caught.value.instead).endswith("Storage nodes of BUF: B takes 8, A takes 5")


def test_a_memory_whose_size_depends_on_the_einsum_is_filled_in_parts() -> None:
    """T takes 6 of 12 for its writer and 6 of 8 for its reader, where 3 of 8 come to it."""
    exchanged = tile("T", 6, 1, 0, backing=True)
    bodies = [einsum(exchanged, branch=0), einsum(exchanged, tile("C", 3, 2), branch=1)]
    parts = peak_parts(
        bodies, loops_above_the_split, one_per_storage, [{"BUF": 12.0}, {"BUF": 8.0}]
    )
    assert parts == {"BUF": Fraction(9, 8)}
    path = replace(bodies[1].path, origins=(1, 2))
    bodies = [PathOccupancies(path, body.occupancies) for body in bodies]
    with pytest.raises(InfeasibleMapping, match=r"need 1\.125 times its size, which is not the"):
        check_parts(bodies, parts)
