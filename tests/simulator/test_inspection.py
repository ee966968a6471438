"""A program before it runs, and the pictures after it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import numpy as np
from every_construct import everything

from tilewright.simulator.examples import chain_reduce
from tilewright.simulator.heat_map import heat_map, heat_maps
from tilewright.simulator.inspection import inspect_program
from tilewright.simulator.machine import Machine
from tilewright.simulator.profile import load_profile

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
        "cycles busy", "cycles idle", "cycles wait_input", "cycles wait_output", "words R",
        "words W",
    ]  # fmt: skip
    for text in maps.values():
        assert len(ElementTree.fromstring(text).findall("{*}rect")) == 5


def test_large_grids_are_shown_by_means_of_blocks() -> None:
    values = np.zeros((300, 700))
    values[299, 699] = 36
    picture = ElementTree.fromstring(heat_map(values, "a < b"))
    cells = picture.findall("{*}rect")
    assert len(cells) == 50 * 117
    last = cells[-1].find("{*}title")
    assert last is not None
    assert last.text == "(294, 696): 1.5"  # 36 over the 24 elements at the corner
