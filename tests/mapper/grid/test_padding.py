"""Which rank variables may have a padded last share."""

from math import inf

import numpy as np
import pytest
from grid_mappings import HOST, einsum_workload, grid_arch, read

from tilewright.mapper.grid.padding import may_pad, padded, padding_value
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum


@pytest.mark.parametrize(
    ("form", "variable", "may"),
    [
        ("matrix product", "m", True),  # the output has it
        ("matrix product", "k", True),  # a product with 0
        ("sum of rows", "k", True),
        ("largest of rows", "k", True),  # minus infinity
        ("sum of exponentials", "k", False),  # exp(0) is 1
        ("distance", "k", True),  # square(0 - 0)
        ("linear layer", "k", True),
        ("convolution", "r", True),  # B[r] is 0, A[p + r] need not be
        ("average pooling", "p", True),
        ("largest in windows", "r", False),
        ("trace", "m", True),
    ],
)
def test_what_adds_nothing_may_be_padded(form: str, variable: str, may: bool) -> None:
    assert may_pad(einsum_workload(form).einsums[0], variable) is may


def test_a_window_sum_may_not_be_padded_in_the_window() -> None:
    """A[2*p + r] behind the window is a value of the next one."""
    assert not may_pad(einsum_workload("average pooling").einsums[0], "r")


def test_padding_changes_the_bounds_only_where_it_is() -> None:
    einsum = einsum_workload("matrix product").einsums[0]
    assert padded(einsum, einsum.bounds) is einsum
    larger = padded(einsum, {"m": 9, "k": 12, "n": 6})
    assert (larger.bounds["m"], larger.accesses) == (9, einsum.accesses)


MEMORY = Storage(("A", "B", "Z"), "SRAM")
WORK = (Temporal("m", 1), Temporal("k", 1), Temporal("n", 1), ComputeNode("Z", "Engine"))
WHOLE = Storage(("A", "B", "Z"), "Host")


@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim"])
def test_a_padded_share_is_executed_and_counted(machine: str) -> None:
    """12 values of k over 4 columns and 8 of m in tiles of 3: 9 rows, one of them padding."""
    result = read([WHOLE, Spatial("k", 5, "X", "Grid"), Temporal("m", 3), MEMORY, *WORK])
    assert (result.columns, result.einsum.bounds) == (3, {"m": 9, "k": 15, "n": 6})
    assert result.workload_einsum.bounds == {"m": 8, "k": 12, "n": 6}
    run = execute_einsum(result, ExecutionSettings(machine=machine))
    assert run.output.shape == (8, 6)
    assert run.counts["Z/Engine/None/compute"] == 9 * 15 * 6
    assert run.plan.read.padding_share == pytest.approx(1 - 8 * 12 * 6 / (9 * 15 * 6))


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ((Spatial("k", 4, "X", "Grid"), Temporal("k", 3), MEMORY), "values of k in the tile above"),
        ((MEMORY, Temporal("m", 3)), "values of m in the tile above"),
        ((Spatial("k", 13, "X", "Grid"), MEMORY), "tiles of 13 of 12 values"),
    ],
)
def test_only_the_outermost_loop_of_a_variable_has_a_shorter_tile(
    nodes: tuple[Spatial | Temporal | Storage, ...], reason: str
) -> None:
    with pytest.raises(InfeasibleMapping, match=reason) as raised:
        read([WHOLE, *nodes, *WORK])
    assert raised.value.instead


def test_a_maximum_is_padded_with_the_least_value() -> None:
    """12 values of k over 4 columns are shares of 5: the last has 2, all below 0, and 3 more."""
    einsum = einsum_workload("largest of rows").einsums[0]
    nodes = (
        Storage(("A", "Z"), HOST.component),
        Spatial("k", 5, "X", "Grid"),
        Storage(("A", "Z"), "SRAM"),
        Temporal("m", 1),
        Temporal("k", 1),
        ComputeNode("Z", "Engine"),
    )
    result = space_time(grid_arch("largest of rows", 32, 4, 2), einsum, Mapping(nodes))
    assert (padding_value(einsum), result.columns) == (-inf, 3)
    values = -1.0 - np.arange(8.0 * 12).reshape(8, 12)
    run = execute_einsum(result, operands={"A": values})
    np.testing.assert_array_equal(run.output, values.max(axis=1))


def test_the_greatest_of_other_formulas_is_not_padded() -> None:
    einsum = einsum_workload("largest in windows").einsums[0]
    assert (padding_value(einsum), may_pad(einsum, "r")) == (0.0, False)
