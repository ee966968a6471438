"""Heat maps: a cell per element with its value, means of blocks on large grids."""

from __future__ import annotations

import re

import numpy as np

from tilewright.simulator.show.heat_map import MOST, heat_map


def titles(svg: str) -> list[str]:
    return re.findall(r"<title>(.*?)</title>", svg)


def test_a_cell_per_element() -> None:
    svg = heat_map(np.array([[0, 5], [10, 3]]), "words")
    assert titles(svg) == ["(0, 0): 0", "(0, 1): 5", "(1, 0): 10", "(1, 1): 3"]
    assert "words: 0 to 10" in svg


def test_large_grids_are_shown_as_means_of_blocks() -> None:
    values = np.arange(2 * MOST)[None, :]
    svg = heat_map(values, "cycles")
    assert len(titles(svg)) == MOST
    assert titles(svg)[:2] == ["(0, 0): 0.5", "(0, 2): 2.5"]
    assert "means of 2 x 2 elements" in svg


def test_the_title_is_escaped() -> None:
    assert "a &lt; b" in heat_map(np.ones((1, 1)), "a < b")
