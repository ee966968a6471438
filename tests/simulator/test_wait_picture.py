"""The picture of waits: no box, label or lane of another target lies on another."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilewright.simulator.diagnose.wait_picture import picture, wrapped

WAY = re.compile(r'<path stroke="[^"]+" d="M\d+,(\d+)H(\d+)V(\d+)H')


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_nothing_lies_on_something_else(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = [f"element {i} " + "waits for long " * int(rng.integers(9)) for i in range(count)]
    edges = [
        (int(a), int(b), f"label {rng.integers(4)} " + "of many words " * int(rng.integers(9)))
        for a, b in rng.integers(0, count, (int(rng.integers(2 * count)), 2))
    ]
    edges = list(dict.fromkeys(edges))
    svg = picture(nodes, edges)
    boxes = re.findall(r'<rect x="10" y="(\d+)" width="\d+" height="(\d+)"', svg)
    assert len(boxes) == count
    spans = [(int(y), int(y) + int(height)) for y, height in boxes]
    assert all(end < start for (_, end), (start, _) in pairwise(spans))
    lines = [int(y) for y in re.findall(r'<text[^>]* y="(\d+)"', svg)]
    assert all(later - before >= 15 for before, later in pairwise(lines))
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for start, x, end in (map(int, way) for way in WAY.findall(svg)):
        lanes.setdefault((x, end), []).append((min(start, end), max(start, end)))
    merged = {key: (min(a for a, _ in s), max(b for _, b in s)) for key, s in lanes.items()}
    for (x, end), (low, high) in merged.items():
        for (other_x, other_end), (other_low, other_high) in merged.items():
            if x == other_x and end != other_end:
                assert high < other_low or other_high < low
    assert len(WAY.findall(svg)) == len(edges)


def test_nothing_is_cut_off() -> None:
    text = "word " * 60
    assert " ".join(wrapped(text, 70)) == text.strip()
    assert picture([text], []).count("word") == 60
