"""Vector operations at the limits of descriptors: long strides, and many strides together."""

from __future__ import annotations

import numpy as np
import pytest
from grid_mappings import einsum_on_grid

from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Storage, Temporal
from tilewright.simulator.execution.einsum_execution import execute_einsum
from tilewright.simulator.lowering.kernel import STRIDE_REGISTERS, kernel_of


def test_a_stride_of_more_than_127_values() -> None:
    """The diagonal of 140 x 140 values: 141 from one to the next."""
    flat, einsum = einsum_on_grid("Z[m] = A[P: m, Q: m]", {"M": 140}, (1, 1), bits=16)
    tensors = ("Z", "A")
    nodes = (Storage(tensors, "Host"), Storage(tensors, "SRAM"), Temporal("m", 1))
    read = space_time(flat, einsum, Mapping((*nodes, ComputeNode("Z", "Engine"))))
    assert kernel_of(read).loops["A"] == ((140, 141),)
    run = execute_einsum(read)
    assert np.array_equal(run.output, np.diag(run.operands["A"]))


@pytest.mark.parametrize(("kept", "dimensions"), [(("a", "b"), 2), (("a", "b", "c", "d"), 3)])
def test_vectors_run_over_as_many_loops_as_there_are_strides(
    kept: tuple[str, ...], dimensions: int
) -> None:
    """Sums read and write the output: with four dimensions, three vectors have nine strides."""
    ranks = ", ".join(f"X{name.upper()}: 2*{name}" for name in kept)
    sizes = {**{f"X{name.upper()}": 5 for name in kept}, "K": 4}
    flat, einsum = einsum_on_grid(f"Z[{ranks}] = A[{ranks}, k]", sizes, (1, 1), bits=16)
    tensors = ("Z", "A")
    loops = [Temporal("k", 1), *(Temporal(name, 1) for name in kept)]
    nodes = (Storage(tensors, "Host"), Storage(tensors, "SRAM"), *loops)
    read = space_time(flat, einsum, Mapping((*nodes, ComputeNode("Z", "Engine"))))
    kernel = kernel_of(read)
    assert len(kernel.loops["Z"]) == dimensions
    assert 3 * (dimensions - 1) <= STRIDE_REGISTERS
    assert len(kernel.vector) + len(kernel.outer) == len(loops)
    run = execute_einsum(read)
    assert run.lower_bound_cycles <= run.cycles


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("step", [1, 2, 3, 4, 6])
def test_a_walk_goes_on_where_a_vector_without_gaps_ends(stride: int, step: int) -> None:
    """Vectors of two values, and turns that move them by so many elements of their tile."""
    sizes = {"P": 2, "R": 4, "X": stride + 3 * step + 1}
    text = f"Z[p] = A[X: {stride}*p + {step}*r] * B[r]"
    flat, einsum = einsum_on_grid(text, sizes, (1, 1))
    nodes = (
        Storage(("Z", "A", "B"), "Host"),
        Storage(("Z", "A", "B"), "SRAM"),
        Temporal("r", 1),
        Storage(("B",), "Scalar"),
        Temporal("p", 1),
    )
    read = space_time(flat, einsum, Mapping((*nodes, ComputeNode("Z", "Engine"))))
    assert kernel_of(read).walks == ((stride, step) == (1, 2))
    run = execute_einsum(read)
    assert run.lower_bound_cycles <= run.cycles
