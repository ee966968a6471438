"""What of a mapping is read as loops in space and time, and what is refused with which reason."""

import pytest
from grid_mappings import END, HOST, LOOP, OVER_K, OVER_N, TILES, WHOLE, WORK, read

from tilewright.mapper.grid.space_time import TimeLoop
from tilewright.mapper.mapping.mapping import Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.errors import InfeasibleMapping


def test_the_example_of_the_theory() -> None:
    found = read([HOST, OVER_K, OVER_N, WHOLE, LOOP, TILES, *WORK, END])
    assert (found.columns, found.rows, found.kernel) == (4, 2, 1)
    assert found.time[0] == TimeLoop("m", 2, 4)
    assert found.tensor("A").extents == (2, 3)
    assert (found.tensor("B").resident, found.tensor("B").values) == (True, 9)
    assert found.visits(found.tensor("A")) == 4
    assert found.scalar == "A"
    assert found.is_reduced("k")
    assert found.dtype == "f32"


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([HOST, OVER_K, WHOLE, Temporal("k", 2), TILES, END], "do not divide"),
        ([HOST, Spatial("k", 1, "X", "Grid"), WHOLE, TILES, END], "12 shares"),
        ([HOST, Spatial("k", 3, "Z", "Grid"), WHOLE, TILES, END], "no dimension of the grid"),
        ([HOST, WHOLE, OVER_K, TILES, END], "below a Storage"),
        ([LOOP, HOST, WHOLE, TILES, END], "above the Storage of Host"),
        ([HOST, WHOLE, END], "no Storage in SRAM"),
        ([HOST, WHOLE, TILES], "does not end"),
        ([HOST, WHOLE, WHOLE, TILES, END], "two Storages"),
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


def test_sixteen_bits_are_f16() -> None:
    assert read([HOST, WHOLE, Storage(("A", "Z"), "SRAM"), END], bits=16).dtype == "f16"
