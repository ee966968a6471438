"""What elements write into the padding of a tensor that stays, before they add it up."""

import numpy as np
import pytest
from cascades import cascade_arch

from tilewright.arch.files.source import load_document
from tilewright.mapper.grid.exchanges.padding_fills import padding_fills
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.mapped_workload import grid_path


def read(einsum: str, *space: Node, staying: str = "S") -> SpaceTime:
    """S[m, k] = exp(A[m, k]) of 5 x 7 values, then Z[m] from S, on 4 x 4 elements."""
    text = (
        "workload:\n  rank_sizes: {M: 5, K: 7}\n  bits_per_value: {All: 32}\n"
        f'  einsums: ["S[m, k] = exp(A[m, k])", "{einsum}"]\n'
    )
    workload = load_workload(load_document("w.yaml", text=text))
    used = workload.einsum("Z")
    inputs = tuple(access.tensor for access in used.inputs)
    outside = tuple(name for name in (*inputs, "Z") if name not in staying)
    nodes = (
        Storage(outside, "Host"),
        *space,
        Storage((*inputs, "Z"), "SRAM"),
        *(Temporal(name, 1) for name in used.bounds),
        ComputeNode("Z", "Engine"),
    )
    path = grid_path(cascade_arch(4, 4), workload, used)
    return space_time(path, used, Mapping(nodes), frozenset(staying))


def over(variable: str, tile: int, axis: str) -> Spatial:
    return Spatial(variable, tile, axis, "Grid")


def test_the_elements_with_the_last_share_write_behind_the_last_value() -> None:
    """7 values of k over 4 columns are shares of 2: the last has one value, and one of padding."""
    result = read("Z[m] = S[m, k]", over("k", 2, "X"), over("m", 3, "Y"))
    (fill,) = padding_fills(result)
    assert (fill.tensor, fill.value) == ("S", 0.0)
    assert (fill.stretches, fill.pitch, fill.offset, fill.length) == (3, 2, 1, 1)
    assert fill.values == 3
    np.testing.assert_array_equal(fill.places(result), [[0, 0, 0, 1]] * 2)


def test_of_two_loops_along_an_axis_the_one_of_the_variable_decides() -> None:
    result = read("Z[m] = S[m, k]", over("m", 3, "X"), over("k", 4, "X"))
    (fill,) = padding_fills(result)
    np.testing.assert_array_equal(fill.places(result), [[0, 1, 0, 1]])


def test_before_a_maximum_the_padding_is_minus_infinity() -> None:
    (fill,) = padding_fills(read("Z[m] = max(S[m, k])", over("k", 3, "Y")))
    assert fill.value == -np.inf
    assert (fill.offset, fill.length) == (1, 2)


def test_both_variables_of_a_sum_have_a_fill() -> None:
    fills = padding_fills(read("Z[] = S[m, k]", over("k", 2, "X"), over("m", 2, "Y")))
    assert {(f.stretches, f.pitch, f.offset, f.length) for f in fills} == {
        (2, 2, 1, 1),
        (1, 4, 2, 2),
    }


@pytest.mark.parametrize(
    ("einsum", "space"),
    [
        ("Z[m] = S[m, k]", (over("m", 3, "X"),)),  # results in the padding of m are dropped
        ("Z[m] = S[m, k] * B[k]", (over("m", 3, "X"),)),
        ("Z[m] = A[m, k]", (over("k", 2, "X"),)),  # comes from outside, with zeros
    ],
)
def test_nothing_is_written_where_no_padding_is_added_up(
    einsum: str, space: tuple[Spatial, ...]
) -> None:
    assert padding_fills(read(einsum, *space)) == ()


def test_padding_that_does_not_lie_behind_one_share_is_refused() -> None:
    """7 values over 2 x 2 elements, 4 and then 2 in each: the last one has 1, the one before 2."""
    result = read("Z[m] = S[m, k]", over("k", 4, "X"), over("k", 2, "Y"))
    with pytest.raises(InfeasibleMapping, match="adds up padding of S, which stays") as raised:
        padding_fills(result)
    assert "tiles of k that divide its values" in str(raised.value)
