"""The pictures and the page of text of a layout."""

from xml.etree import ElementTree as ET

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Layout, Tiling
from tilewright.mapper.layout.queries.character_picture import character_picture
from tilewright.mapper.layout.queries.explanation import explain
from tilewright.mapper.layout.queries.picture import layout_picture
from tilewright.mapper.layout.schemes.buffering import multi_buffered
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor

SVG = "{http://www.w3.org/2000/svg}"


def drawn(layout: Layout, kind: str) -> list[ET.Element]:
    root = ET.fromstring(layout_picture(layout))
    return [e for e in root.iter(f"{SVG}rect") if e.get("class") == kind]


def test_data_are_drawn_to_scale() -> None:
    """53 × 63 on <3x2> in tiles of 32 × 32: 18 of 32 rows of a cell have data."""
    layout = linear_map_layout((53, 63), (3, 2), tiling=Tiling((32, 32)))
    cells, data = drawn(layout, "edge"), drawn(layout, "data")
    assert len(cells) == len(data) == 6
    sides = [
        float(e.get("height", 0)) / float(c.get("height", 1))
        for e, c in zip(data, cells, strict=True)
    ]
    assert sides[0] == pytest.approx(18 / 32, rel=1e-4)
    assert sides[-1] == pytest.approx(17 / 32, rel=1e-4)
    titles = [e.text for e in ET.fromstring(layout_picture(layout)).iter(f"{SVG}title")]
    assert "cell (2, 1), unit (2, 1): 527 scalars, 497 of padding" in titles


def test_empty_cells_have_no_data() -> None:
    layout = linear_map_layout((9, 300), (8, 8))
    assert len(drawn(layout, "edge")) == 64
    assert len(drawn(layout, "data")) == 40
    lines = character_picture(layout).split("\n")
    assert [line.strip() for line in lines] == ["███████▒"] * 4 + ["▒" * 8] + ["·" * 8] * 3


def test_grids_of_other_ranks() -> None:
    assert len(drawn(linear_map_layout((2, 3, 64, 128), (2, 2, 4), [(1, -1)]), "edge")) == 16
    assert len(drawn(linear_map_layout((5,), (3,), []), "edge")) == 3
    assert character_picture(linear_map_layout((4, 4, 4), (2, 1, 2), [])).count("grid") == 2
    assert "draws all" in character_picture(linear_map_layout((99, 99), (40, 70)))


def test_pictures_that_show_nothing_are_refused() -> None:
    with pytest.raises(SpecError, match="a picture of 10000 cells"):
        layout_picture(linear_map_layout((200, 200), (100, 100)))
    with pytest.raises(SpecError, match="no set of boxes"):
        layout_picture(linear_map_layout((8, 96, 32), (2, 1, 2), rule="tt-mlir-2024"))


def test_the_page_names_what_is_empty_and_what_takes_turns() -> None:
    text = explain(linear_map_layout((9, 300), (8, 8)))
    assert "padding    2164 of 4864 allocated scalars (44.5 %)" in text
    assert "phantom    24 cells hold no data: (5, 0)" in text
    twice = explain(linear_map_layout((4, 12, 32), (2, 1, 2), rule="tt-mlir-2024"))
    assert "a dimension stands in two groups: 12 times the tensor is allocated" in twice
    banks = ShardedTensor((4, 4, 3), (3,), memory="dram").nd_sharded((2, 2, 3))
    assert "4 cells on 3 of 3 units, up to 2 shards per unit" in explain(banks)
    plain = linear_map_layout((8,), (1,), [])
    turns = plain.with_place(multi_buffered(4, 8, 2))
    assert "blocks 4 take turns in 2 places; at most 2 consecutive" in explain(turns)
