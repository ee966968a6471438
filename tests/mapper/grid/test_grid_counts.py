"""Predicted counts of grid candidates, worked by hand; executions agree (tests/agreement)."""

from __future__ import annotations

import pytest
from grids import candidate, candidates, matmul, matvec
from hypothesis import given

from tilewright.mapper.grid.grid_counts import predict


def test_a_matmul_whose_output_stays() -> None:
    """Z[4, 4] = A[4, 2] * B[2, 4] on 2 x 2: m over x, n over y; B and Z are resident."""
    counts = predict(candidate(matmul(4, 2, 4), 2, 2, shard_x="m", shard_y="n"))
    assert counts["Z/Engine/None/compute"] == 4 * 4 * 2
    assert counts["Z/Host/A/read"] == 4 * 2  # each value enters once ...
    assert counts["Z/Fabric/None/hop"] == 4 * 2 * 1  # ... and passes one element of its column
    assert not any(key.startswith("Z/Host/B") or key.endswith("/add") for key in counts)


@pytest.mark.parametrize(
    ("reduction", "hops", "extra"),
    [
        ("chain", 3, 0),
        # Groups of two: chains 0-1 and 2-3, then 1-3. Element 3 receives twice.
        ("two_phase", 1 + 1 + 2, 1),
    ],
)
def test_a_reduction_along_rows(reduction: str, hops: int, extra: int) -> None:
    """y[4] = W[4, 8] * x[8] with k over four columns: each of 4 sums crosses a row."""
    counts = predict(candidate(matvec(4, 8), 4, 1, shard_x="k", reduction=reduction))
    assert counts["y/Engine/None/add"] == 4 * 3
    assert counts["y/Engine/None/compute"] == 4 * 8
    # x is split over the columns: no element passes it on; W is resident.
    assert counts["y/Fabric/None/hop"] == 4 * hops
    drained = predict(candidate(matvec(4, 8), 4, 1, shard_x="k"))
    assert counts["y/SRAM/y/write"] == drained["y/SRAM/y/write"] + 4 * extra
    assert counts["y/Host/x/read"] == 8
    assert counts["y/Host/y/write"] == 4


@given(candidates())
def test_operations_are_those_of_the_einsum(built) -> None:
    counts = predict(built)
    name = built.einsum.name
    assert counts[f"{name}/Engine/None/compute"] == built.einsum.operations
    assert all(isinstance(number, int) and number > 0 for number in counts.values())
    # Every streamed input enters at least once as a whole.
    for tensor in built.tensors:
        if not tensor.resident and not tensor.access.output:
            read = counts[f"{name}/Host/{tensor.name}/read"]
            assert read % tensor.access.tile_size(built.einsum.bounds) == 0
