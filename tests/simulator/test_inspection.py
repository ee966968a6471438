"""A program before it runs, and the pictures after it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import numpy as np
import pytest
from every_construct import everything

from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.show.color_scale import mixed, tick_step
from tilewright.simulator.show.heat_map import heat_map, heat_maps
from tilewright.simulator.show.inspection import inspect_program

WSE3 = load_profile("wse3-sdk-sim")


def test_text(golden: Callable[[str], None]) -> None:
    golden(str(inspect_program(everything(), WSE3)))


def test_numbers_of_a_chain() -> None:
    program = chain_reduce(4, 10)
    found = inspect_program(program, WSE3)
    by_name = {code.name: code for code in found.codes}
    assert {name: code.elements for name, code in by_name.items()} == {
        "west": 1, "even": 1, "odd": 1, "east": 1,
    }  # fmt: skip
    for code in found.codes:
        assert sum(part.end - part.start for part in code.memory) == WSE3.sram_free_bytes
        assert code.free_bytes == WSE3.sram_free_bytes - 40
    assert found.colors_of(0, 1, "W") == ("odd",)
    assert found.colors_of(0, 0, "R") == ("odd",)
    assert found.colors_of(0, 0, "W") == ()
    assert found.most_colors == 1
    words = Machine(program, WSE3).run().trace.link_words
    assert ((words > 0) == (found.link_colors > 0)).all()


def test_heat_maps_of_a_run() -> None:
    result = Machine(chain_reduce(5, 10), WSE3).run()
    maps = heat_maps(result)
    assert sorted(maps) == [
        "cycles busy", "cycles idle", "cycles wait_input", "cycles wait_output",
        "stalls dependent", "words R", "words W",
    ]  # fmt: skip
    for text in maps.values():
        assert len(ElementTree.fromstring(text).findall("{*}rect")) == 5


@pytest.mark.parametrize("side", [1, 4, 16, 17])
def test_small_grids_have_numbers_in_their_cells(side: int) -> None:
    values = np.arange(side * side).reshape(side, side) * 1000
    picture = ElementTree.fromstring(heat_map(values, "words"))
    _, *numbers = picture.findall("{*}text")
    shown = [text.text for text in numbers]
    assert shown == ([f"{v:g}" for v in values.ravel()] if side <= 16 else [])
    assert all(cell.get("stroke") for cell in picture.findall("{*}rect")) == (side <= 16)


def test_long_numbers_are_shortened() -> None:
    values = np.array([[999_999, 1_234_567, 2.5e9, 1 / 3]])
    _, *numbers = ElementTree.fromstring(heat_map(values, "n")).findall("{*}text")
    assert [text.text for text in numbers] == ["999999", "1.23M", "2.5G", "0.333"]


@pytest.mark.parametrize(
    ("values", "legend", "shares"),
    [
        ([[0, 5, 10]], "n: 0 to 10", [0, 0.5, 1]),
        ([[5, 10]], "n: 0 to 10", [0.5, 1]),
        ([[247, 290]], "n: 247 to 290, colors from the least value", [0, 1]),
        ([[7, 7]], "n: 0 to 7", [1, 1]),
        ([[0, 0]], "n: 0 to 0", [0, 0]),
    ],
)
def test_colors_start_where_the_legend_says(
    values: list[list[int]], legend: str, shares: list[float]
) -> None:
    picture = ElementTree.fromstring(heat_map(np.array(values), "n"))
    text = picture.find("{*}text")
    assert text is not None
    assert text.text == legend
    colors = [cell.get("fill") for cell in picture.findall("{*}rect")]
    assert colors == [mixed(share) for share in shares]


def test_rows_and_columns_are_numbered_as_far_apart_as_is_readable() -> None:
    picture = ElementTree.fromstring(heat_map(np.ones((3, 260)), "n"))
    columns, rows, scale = (group.findall("{*}text") for group in picture.findall("{*}g"))
    assert [text.text for text in columns] == [
        *(str(3 * i) for i in range(0, 87, 5)), "column",
    ]  # fmt: skip
    assert [text.text for text in rows] == ["0"]
    assert [text.text for text in scale] == ["1", "0"]


@pytest.mark.parametrize(
    ("pixels", "step"), [(72, 1), (34, 1), (17, 2), (16, 5), (4, 10), (1, 50), (0.5, 100)]
)
def test_ticks_step_by_one_two_or_five(pixels: float, step: int) -> None:
    assert tick_step(pixels) == step


def test_large_grids_are_shown_by_means_of_blocks() -> None:
    values = np.zeros((300, 700))
    values[299, 699] = 36
    picture = ElementTree.fromstring(heat_map(values, "a < b"))
    cells = picture.findall("{*}rect")
    assert len(cells) == 50 * 117
    last = cells[-1].find("{*}title")
    assert last is not None
    assert last.text == "(294, 696): 1.5"  # 36 over the 24 elements at the corner
