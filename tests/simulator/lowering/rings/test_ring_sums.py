"""Rings of all-reduces as programs: in slices, with f16 and maxima, and what is refused."""

import numpy as np
import pytest
from grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import (
    EinsumExecution,
    ExecutionSettings,
    execute_einsum,
)
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.lowering.passes.plan_passes import plan_passes
from tilewright.simulator.lowering.plan import program_of


def all_reduce(
    sides: tuple[int, int], words: int, value: str = "A[j, k, n]", bits: int = 32
) -> EinsumExecution:
    """Vectors of all elements added up round a ring, on the machine WSE-2."""
    columns, rows = sides
    text = (
        f"workload:\n  rank_sizes: {{K: {columns}, J: {rows}, N: {words}}}\n"
        f"  bits_per_value: {{All: {bits}}}\n  persistent_tensors: A\n"
        f'  einsums: ["Z[n] = {value}"]\n'
    )
    workload = load_workload(load_document("sum.yaml", text=text))
    values = {"variables.GridX": columns, "variables.GridY": rows}
    einsum = workload.einsums[0]
    flat = grid_path(load_arch(HARDWARE).with_values(values), workload, einsum)
    shares = [("k", "X", columns), ("j", "Y", rows)]
    nodes: list[Node] = [Spatial(v, 1, dim, "Grid") for v, dim, size in shares if size > 1]
    nodes += [
        Storage(("A",), "SRAM"),
        Storage(("Z",), "SRAM", reduction="all_reduce(ring)"),
        Temporal("n", 1),
        ComputeNode("Z", "Engine"),
    ]
    read = space_time(flat, einsum, Mapping(tuple(nodes)), frozenset({"Z"}))
    return execute_einsum(read, ExecutionSettings())


@pytest.mark.parametrize(
    ("sides", "words"), [((2, 1), 64), ((1, 3), 51), ((4, 1), 1024), ((3, 3), 81), ((4, 2), 8)]
)
def test_each_element_has_the_sum(sides: tuple[int, int], words: int) -> None:
    """Chunks of one slice, of many, of a prime number of words, and of a word."""
    run = all_reduce(sides, words)
    tiles = run.memory["Z"].reshape(-1, words)
    np.testing.assert_array_equal(tiles, np.broadcast_to(tiles[0], tiles.shape))
    np.testing.assert_allclose(tiles[0], run.operands["A"].sum(axis=(0, 1)), rtol=1e-4, atol=1e-5)
    assert run.lower_bound_cycles <= run.cycles
    assert run.counts == run.predicted


def test_largest_values_and_half_precision() -> None:
    run = all_reduce((4, 2), 16, "max(A[j, k, n])")
    np.testing.assert_array_equal(run.output, run.operands["A"].max(axis=(0, 1)))
    assert all_reduce((4, 1), 64, bits=16).error_share <= 1


@pytest.mark.parametrize(("sides", "values"), [((4, 1), 64), ((2, 4), 128), ((3, 3), 180)])
def test_two_values_of_16_bits_go_in_a_word(sides: tuple[int, int], values: int) -> None:
    half, whole = (all_reduce(sides, values, bits=bits) for bits in (16, 32))
    assert half.error_share <= 1
    assert half.counts == half.predicted
    assert half.lower_bound_cycles <= half.cycles < whole.cycles
    hops = [run.counts[f"{run.plan.read.einsum.name}/Fabric/None/hop"] for run in (half, whole)]
    assert 2 * hops[0] == hops[1]


def test_a_chunk_of_an_odd_number_of_values_goes_value_by_value() -> None:
    half, whole = (all_reduce((4, 1), 12, bits=bits) for bits in (16, 32))
    assert half.error_share <= 1
    assert half.counts == half.predicted == whole.counts


def test_passes_are_checked_and_colors_few() -> None:
    plan = all_reduce((4, 4), 64).plan
    profile = ExecutionSettings().profile(plan.read.grid)
    steps = {step.name: step for step in plan_passes(plan, profile)}
    assert all(step.checked for step in steps.values())
    assert any("over 16 elements by all_reduce(ring)" in line for line in steps["choose"].lines)
    assert len(program_of(plan).colors) == 6


def test_a_tile_without_chunks_for_all_is_refused() -> None:
    with pytest.raises(InfeasibleMapping, match="a ring of 4 elements adds up 6 values") as error:
        all_reduce((4, 1), 6)
    assert "divides" in error.value.instead
