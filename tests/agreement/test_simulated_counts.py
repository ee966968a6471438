"""Two roads to one number: counts predicted in closed form and counted by the running machine."""

import numpy as np
import pytest
from grids import candidate, candidates, matmul, matvec
from hypothesis import given, settings

from tilewright.mapper.grid.candidate import Candidate
from tilewright.mapper.grid.grid_counts import predict
from tilewright.simulator.cost_model import (
    SimulatedCostModel,
    check_result,
    count_actions,
    execute_by_fast,
    output_of,
    random_operands,
)
from tilewright.simulator.lowering.lower import lower
from tilewright.simulator.run.trace import RunResult

CASES = {
    "matvec, chain": (matvec(16, 24), 4, 2, {"shard_x": "k", "shard_y": "m"}),
    "matvec, rows of one": (matvec(16, 24), 1, 4, {"shard_y": "m"}),
    "matvec, down": (matvec(16, 24), 2, 4, {"shard_x": "m", "shard_y": "k"}),
    "matvec, both summed": (matvec(16, 24), 3, 4, {"shard_x": "k", "shard_y": "k"}),
    "matvec, tiles of m": (
        matvec(16, 24),
        4,
        2,
        {"shard_x": "k", "shard_y": "m", "tile_variable": "m", "tile": 2, "buffers": 2},
    ),
    "matvec, tiles of k": (
        matvec(16, 24),
        2,
        2,
        {"shard_x": "k", "shard_y": "m", "tile_variable": "k", "tile": 3, "buffers": 2},
    ),
    "matvec, two-phase": (
        matvec(8, 36),
        9,
        1,
        {"shard_x": "k", "reduction": "two_phase"},
    ),
    "matvec, two-phase, overlapped": (
        matvec(8, 36),
        9,
        2,
        {
            "shard_x": "k",
            "shard_y": "m",
            "reduction": "two_phase",
            "tile_variable": "m",
            "tile": 1,
            "buffers": 2,
        },
    ),
    "matmul, sums over columns": (matmul(8, 12, 16), 4, 2, {"shard_x": "k", "shard_y": "n"}),
    "matmul, output stays": (
        matmul(8, 12, 16),
        4,
        2,
        {"shard_x": "n", "shard_y": "m", "weights": "streamed"},
    ),
    "matmul, output stays, tiles of k": (
        matmul(8, 12, 16),
        4,
        2,
        {
            "shard_x": "n",
            "shard_y": "m",
            "weights": "streamed",
            "tile_variable": "k",
            "tile": 3,
            "buffers": 2,
        },
    ),
    "matmul, tokens in tiles": (
        matmul(8, 12, 16),
        3,
        4,
        {"shard_x": "k", "shard_y": "n", "tile_variable": "m", "tile": 2, "buffers": 2},
    ),
    "matmul, weights everywhere": (matmul(8, 12, 16), 2, 2, {"shard_x": "m", "shard_y": "m"}),
    "matmul, two-phase grid": (
        matmul(4, 36, 6),
        3,
        6,
        {"shard_x": "k", "shard_y": "k", "reduction": "two_phase", "weights": "streamed"},
    ),
}


def run(found: Candidate, operands: dict[str, np.ndarray]) -> RunResult:
    return execute_by_fast(lower(found), SimulatedCostModel().profile(found), operands).result


@pytest.mark.parametrize("name", CASES)
def test_the_machine_counts_what_the_model_predicts(name: str) -> None:
    """Reads, writes, multiply-accumulates, additions, edge words and wavelet hops, exactly."""
    workload, columns, rows, choices = CASES[name]
    found = candidate(workload, columns, rows, **choices)
    result = run(found, random_operands(found.einsum, seed=0))
    assert count_actions(lower(found), result) == predict(found)


@pytest.mark.parametrize("name", CASES)
def test_integers_come_out_exactly(name: str) -> None:
    """Small whole numbers in float32 have no rounding: equal to numpy.einsum bit by bit."""
    workload, columns, rows, choices = CASES[name]
    found = candidate(workload, columns, rows, **choices)
    rng = np.random.default_rng(5)
    operands = {
        access.tensor: rng.integers(
            -8, 9, [form.extent(found.einsum.bounds) for _, form in access.projection]
        ).astype(np.float32)
        for access in found.einsum.inputs
    }
    result = run(found, operands)
    streams = {name: stream.values for name, stream in result.edges.items()}
    values = [operands[access.tensor] for access in found.einsum.inputs]
    expected = np.matmul(*values)
    assert np.array_equal(output_of(found, result.memory, streams), expected)


@given(candidates())
@settings(max_examples=40)
def test_any_candidate_is_right_and_counted(found: Candidate) -> None:
    operands = random_operands(found.einsum, seed=9)
    result = run(found, operands)
    streams = {name: stream.values for name, stream in result.edges.items()}
    assert check_result(found.einsum, operands, output_of(found, result.memory, streams)) <= 1
    assert count_actions(lower(found), result) == predict(found)
