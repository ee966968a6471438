"""Which rule of the elements a mapping breaks, with the reason and what to write instead."""

import pytest
from grid_mappings import END, HOST, TILES, WHOLE, WORK, einsum_on_grid, read

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.reading.element_rules import check_einsum
from tilewright.mapper.mapping.mapping import Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.errors import InfeasibleMapping


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([Storage(("Z",), "Host"), Storage(("A", "B", "Z"), "SRAM"), END], "neither persistent"),
        ([HOST, Temporal("m", 2), WHOLE, Storage(("A", "Z"), "SRAM"), END], "only the elements"),
        ([HOST, WHOLE, Temporal("k", 4), Storage(("A", "Z"), "SRAM"), END], "partial sums"),
        (
            [HOST, Spatial("k", 6, "X", "Grid"), Spatial("m", 4, "X", "Grid"), WHOLE, TILES, END],
            "neighbours",
        ),
        ([HOST, WHOLE, Storage(("A", "Z"), "SRAM"), Storage(("Z",), "Scalar"), END], "register"),
        (
            [HOST, WHOLE, Storage(("A", "Z"), "SRAM"), Storage(("A",), "Scalar"), *WORK[:2], END],
            "no loop of one vector operation",
        ),
        ([HOST, WHOLE, Storage(("A", "Z"), "SRAM", buffers=2), END], "two buffers overlap"),
        ([HOST, WHOLE, Storage(("A", "Z"), "SRAM", buffers=3), END], "3 buffers"),
    ],
)
def test_what_no_program_can_follow_says_why(nodes: list[Node], reason: str) -> None:
    with pytest.raises(InfeasibleMapping, match=reason) as raised:
        read(nodes)
    assert raised.value.instead


def test_other_widths_are_refused() -> None:
    with pytest.raises(InfeasibleMapping, match="8 bits"):
        read([HOST, WHOLE, Storage(("A", "Z"), "SRAM"), END], bits=8)


@pytest.mark.parametrize(
    ("output", "instead"),
    [
        ("Z[P: m + n]", "with p - n for m in the inputs, and pad"),
        ("Z[P: 2*m + n + 1]", "with p - 2*m - 1 for n in the inputs, and pad"),
        ("Z[P: 2*m + 3*n]", "Z[p], an index of one variable"),
    ],
)
def test_an_output_whose_tiles_overlap_is_refused(output: str, instead: str) -> None:
    flat, einsum = einsum_on_grid(f"{output} = A[m] * B[n]", {"M": 4, "N": 3}, (2, 2))
    with pytest.raises(InfeasibleMapping, match="its tiles overlap") as raised:
        check_einsum(einsum, grid_of(flat))
    assert instead in str(raised.value.instead)


def test_a_variable_of_one_value_beside_another_one_is_no_sum() -> None:
    flat, einsum = einsum_on_grid("Z[P: m + n] = A[m] * B[n]", {"M": 4, "N": 1}, (2, 2))
    check_einsum(einsum, grid_of(flat))


def test_an_einsum_without_rank_variables_is_refused() -> None:
    flat, einsum = einsum_on_grid("Z[] = A[] * B[]", {}, (2, 2))
    with pytest.raises(InfeasibleMapping, match="no rank variable"):
        check_einsum(einsum, grid_of(flat))
