"""Which rule of the elements a mapping breaks, with the reason and what to write instead."""

import pytest
from grid_mappings import END, HOST, TILES, WHOLE, WORK, read

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
