"""What of a mapping cannot be read as loops in space and time, and for which reason."""

import pytest
from grid_mappings import END, HOST, LOOP, OVER_K, TILES, WHOLE, read

from tilewright.mapper.mapping.mapping import Node, Spatial, Temporal
from tilewright.mapper.workload.errors import InfeasibleMapping


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
    ],
)
def test_what_cannot_be_read_says_why(nodes: list[Node], reason: str) -> None:
    with pytest.raises(InfeasibleMapping, match=reason) as raised:
        read(nodes)
    assert raised.value.instead
