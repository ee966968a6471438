"""Pictures over time: names, cycles and values of their cells; what is left out is said."""

from xml.etree import ElementTree

import numpy as np

from tilewright.simulator.run.trace import IntervalOccupancy
from tilewright.simulator.show.time_map import time_maps


def occupancy(words: np.ndarray, interval: int) -> IntervalOccupancy:
    """Return what links carried, with a queue that holds a word in the first interval."""
    queues = np.zeros((*words.shape[:3], 17), dtype=np.int64)
    queues[0, 0, 0, 3] = interval
    return IntervalOccupancy(interval, words, queues)


def titles(picture: str) -> list[str | None]:
    """Return the texts over the cells."""
    return [title.text for title in ElementTree.fromstring(picture).iterfind("{*}rect/{*}title")]


def test_cells_name_link_cycles_and_share() -> None:
    words = np.zeros((3, 2, 2, 5), dtype=np.int64)
    words[:, 1, 0, 1] = 4, 0, 2
    words[1, 0, 1, 4] = 8
    maps = time_maps(occupancy(words, 8), cycles=21)
    assert titles(maps["links over time"]) == [
        "(0, 1) R, cycles 8 to 15: 1",
        "(1, 0) E, cycles 0 to 7: 0.5",
        "(1, 0) E, cycles 16 to 20: 0.25",
    ]
    assert titles(maps["queues over time"]) == ["(0, 0) input queue 3, cycles 0 to 7: 1"]


def test_of_many_rows_the_fullest_are_shown_in_order() -> None:
    words = np.zeros((2, 10, 10, 5), dtype=np.int64)
    words[0, :, :, 2] = np.arange(100).reshape(10, 10)
    picture = time_maps(occupancy(words, 100), cycles=200)["links over time"]
    assert "the 64 fullest of 99" in picture
    named = [str(title).split(",")[:2] for title in titles(picture)]
    assert named == [[f"({i // 10}", f" {i % 10}) S"] for i in range(36, 100)]


def test_of_many_intervals_several_make_a_column() -> None:
    words = np.zeros((401, 1, 1, 5), dtype=np.int64)
    words[::3, 0, 0, 0] = 6
    picture = time_maps(occupancy(words, 6), cycles=6 * 401)["links over time"]
    assert "18 cycles per column" in picture
    cells = titles(picture)
    assert cells[0] == "(0, 0) N, cycles 0 to 17: 0.333333"
    assert cells[-1] == "(0, 0) N, cycles 2394 to 2405: 0.5"


def test_a_run_in_which_nothing_moves_has_empty_pictures() -> None:
    held = IntervalOccupancy(4, np.zeros((1, 1, 1, 5), np.int64), np.zeros((1, 1, 1, 17), np.int64))
    for picture in time_maps(held, cycles=3).values():
        assert titles(picture) == []
