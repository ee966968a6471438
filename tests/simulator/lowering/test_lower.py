"""Lowering: the program of a candidate computes the Einsum, and is printed as expected."""

from collections.abc import Callable

import numpy as np
import pytest
from grids import candidate, candidates, matmul, matvec
from hypothesis import given, settings
from untimed import Untimed

from tilewright.mapper.grid.candidate import Candidate
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.cost_model import (
    check_result,
    edge_streams,
    output_of,
    random_operands,
    resident_shares,
)
from tilewright.simulator.lowering.data import collect, distribute
from tilewright.simulator.lowering.lower import lower
from tilewright.simulator.text.printing import print_program


def run_untimed(found: Candidate) -> tuple[Untimed, np.ndarray]:
    operands = random_operands(found.einsum, seed=3)
    twin = Untimed(lower(found).program).run(
        resident_shares(found, operands), edge_streams(found, operands)
    )
    output = found.output
    memory, edges = {}, {}
    if output.resident:
        shape = (found.grid.rows, found.grid.columns, output.copies, output.tile_elements)
        memory[output.name] = twin.memory(output.name).reshape(shape)
    else:
        edges["out"] = twin.edge("out")
    return twin, output_of(found, memory, edges)


@given(candidates())
@settings(max_examples=120)
def test_the_program_computes_the_einsum(found: Candidate) -> None:
    """Without a clock: every sharding, reduction, tile and buffering gives numpy's result."""
    _, result = run_untimed(found)
    check_result(found.einsum, random_operands(found.einsum, seed=3), result)


@given(candidates())
@settings(max_examples=60)
def test_dealing_and_collecting_are_inverse(found: Candidate) -> None:
    operands = random_operands(found.einsum, seed=1)
    for tensor in found.tensors:
        if not tensor.access.output:
            values = operands[tensor.name]
            assert np.array_equal(collect(found, tensor, distribute(found, tensor, values)), values)


def test_a_program_in_full(golden: Callable[[str], None]) -> None:
    found = candidate(
        matvec(8, 8), 2, 2, shard_x="k", shard_y="m", tile_variable="m", tile=2, buffers=2
    )
    golden(f"{found.mapping}\n\n{print_program(lower(found).program)}")


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"shard_x": "k"}, "2 elements along Y would repeat the same work"),
        ({"shard_x": "q", "shard_y": "m"}, "shard_x = 'q' is no rank variable of Z"),
        ({"shard_x": "k", "shard_y": "m", "tile_variable": "m", "tile": 3}, "a tile of 3"),
        ({"shard_x": "k", "shard_y": "m", "reduction": "tree"}, "reduction cannot be 'tree'"),
        ({"shard_x": "k", "shard_y": "m", "depth": 2}, "unknown mapping choice 'depth'"),
    ],
)
def test_what_cannot_be_built_says_why(choices: dict[str, str | int], reason: str) -> None:
    with pytest.raises(InfeasibleMapping, match=reason):
        candidate(matmul(8, 6, 12), 2, 2, **choices)


def test_a_share_that_does_not_divide_says_so() -> None:
    with pytest.raises(InfeasibleMapping, match="m = 8 does not divide over 3 elements along X"):
        candidate(matmul(8, 6, 12), 3, 1, shard_x="m")


def test_a_tile_that_does_not_fit_gives_the_numbers() -> None:
    found = candidate(matmul(64, 256, 256), 2, 2, shard_x="k", shard_y="n")
    with pytest.raises(InfeasibleMapping, match="with 49152 free bytes is too small: buffer B"):
        lower(found)
