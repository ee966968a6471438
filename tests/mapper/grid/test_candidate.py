"""Candidates on a grid: layouts of tensors, tiles, loops, and what is refused with its reason."""

from __future__ import annotations

import pytest
from grids import candidate, candidates, matmul, matvec, wafer
from hypothesis import given

from tilewright.mapper.grid.candidate import GridChoices, grid_candidate
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload


def test_a_matmul_split_over_both_axes() -> None:
    """Z[8, 12] on 2 x 3 elements: m over the columns, n over the rows, k in tiles of 2."""
    built = candidate(
        matmul(8, 6, 12), 2, 3, shard_x="m", shard_y="n", tile_variable="k", tile=2, buffers=2
    )
    assert built.local == {"m": 4, "n": 4, "k": 6}
    assert (built.tile_variable, built.tile, built.tiles) == ("k", 2, 3)
    assert built.extents == {"m": 4, "n": 4, "k": 2}
    assert built.reduced == ("k",)
    rows = {
        tensor.name: (dict(tensor.split), tensor.resident, tensor.tile, tensor.tiles, tensor.copies)
        for tensor in built.tensors
    }
    assert rows == {
        "Z": ({"X": "m", "Y": "n"}, True, (4, 4), 1, 1),  # every element has its own part
        "A": ({"X": "m"}, False, (4, 2), 3, 2),
        "B": ({"Y": "n"}, True, (6, 4), 1, 1),  # persistent: stays in the elements
    }
    assert built.reduction == ()  # the output stays where it is summed
    assert str(built.mapping).splitlines()[-1].strip() == "compute Z on Engine"


def test_sums_over_an_axis_are_reduced_along_it() -> None:
    """y[8] on 4 x 2 elements with k over the columns: chains of four along each row."""
    built = candidate(matvec(8, 16), 4, 2, shard_x="k", shard_y="m")
    assert [phase.axis for phase in built.reduction] == ["X"]
    assert [chain.positions for chain in built.reduction[0].chains] == [(0, 1, 2, 3)]
    assert built.tensor("W").tile == (4, 4)
    assert (built.vector, built.vector_tensor, built.scalar_tensor) == ("m", "W", "x")
    with pytest.raises(KeyError):
        built.tensor("Q")


@given(candidates())
def test_shares_of_all_elements_make_the_whole(built) -> None:
    """Each rank variable is divided by the cells it is split over, and by nothing else."""
    cells = {"X": built.grid.columns, "Y": built.grid.rows}
    chosen = {"X": built.choices.shard_x, "Y": built.choices.shard_y}
    for name, bound in built.einsum.bounds.items():
        share = bound
        for axis, variable in chosen.items():
            share //= cells[axis] if variable == name else 1
        assert built.local[name] == share
    for tensor in built.tensors:
        assert tensor.layout.collapse.shape == tuple(
            built.einsum.bounds[name] for name in tensor.variables
        )
        assert tensor.tiles * tensor.tile_elements == tensor.access.tile_size(built.local)


@pytest.mark.parametrize(
    ("columns", "rows", "choices", "words"),
    [
        (3, 1, {"shard_x": "m"}, "m = 8 does not divide over 3 elements along X"),
        (2, 1, {}, "2 elements along X would repeat the same work"),
        (2, 1, {"shard_x": "q"}, "shard_x = 'q' is no rank variable of Z"),
        (1, 1, {"tile_variable": "q", "tile": 2}, "tile_variable = 'q' is no rank variable of Z"),
        (1, 1, {"tile_variable": "k", "tile": 4}, "a tile of 4 does not divide the 6 values of k"),
        (1, 1, {"buffers": 3}, "buffers cannot be 3"),
        (1, 1, {"reduction": "ring"}, "reduction cannot be 'ring'"),
        (1, 1, {"tile": -1}, "tile must be a whole number"),
        (1, 1, {"colour": 1}, "unknown mapping choice 'colour'"),
    ],
)
def test_what_cannot_be_built_says_why(columns, rows, choices, words) -> None:
    with pytest.raises(InfeasibleMapping) as caught:
        candidate(matmul(8, 6, 12), columns, rows, **choices)
    assert words in caught.value.what
    assert caught.value.instead


@pytest.mark.parametrize(
    ("einsum", "words"),
    [
        ("Z[m] = A[m]", "is not a product of two inputs"),
        ("Z[p] = A[H: p + r] * B[r]", "rank H of A is not a single rank variable"),
        ("Z[m] = A[m] * B[m]", "runs through the output and exactly one input"),
    ],
)
def test_only_matrix_products_are_lowered(einsum: str, words: str) -> None:
    workload = load_workload(
        "workload:\n  rank_sizes: {M: 4, P: 4, R: 3}\n  bits_per_value: {All: 32}\n"
        f'  einsums: ["{einsum}"]\n'
    )
    with pytest.raises(InfeasibleMapping, match=words):
        grid_candidate(wafer(workload, 1, 1), workload.einsums[0], {})


def test_defaults_of_the_choices() -> None:
    assert GridChoices.of({}) == GridChoices()
    assert GridChoices.of({"tile": 4}).tile == 4
