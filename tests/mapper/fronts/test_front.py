"""The front of a search: a tuple that knows its metrics and shows itself."""

from __future__ import annotations

import json
import pickle

import pytest

from tilewright.mapper.fronts.front import Front
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapping.scored_mapping import ScoredMapping


def scored(energy: float, bits: int) -> ScoredMapping:
    score = Score(energy, 2.0, 0.0, 0.0, energy, 0.0, capacity={"B<": bits})
    return ScoredMapping(Mapping((ComputeNode("Z", "MAC"),)), score)


POINTS = (scored(1e-9, 64), scored(2e-9, 8))
FRONT = Front(POINTS, ("energy", "usage.B<"))


def test_it_is_a_tuple():
    assert FRONT == POINTS
    assert FRONT[0] is POINTS[0]
    assert Front(POINTS).metrics == ("energy", "latency")
    assert repr(FRONT) == "<Front of 2 mappings over energy, usage.B<>"
    again = pickle.loads(pickle.dumps(FRONT))
    assert (again, again.metrics) == (FRONT, FRONT.metrics)


def test_plain_data_has_the_metrics_and_the_mapping_file():
    rows = json.loads(json.dumps(FRONT.to_dict()))
    assert [(row["energy"], row["usage.B<"]) for row in rows] == [(1e-9, 64.0), (2e-9, 8.0)]
    assert "!Compute" in rows[0]["mapping"]


def test_a_notebook_shows_a_table():
    page = FRONT._repr_html_()
    assert page.count("<tr>") == 3
    assert "usage.B&lt;" in page
    assert "8 B" in page
    assert "least energy" in page


def test_pandas():
    pytest.importorskip("pandas")
    table = FRONT.to_pandas()
    assert table["energy"].tolist() == [1e-9, 2e-9]
    assert list(table.columns) == ["energy", "usage.B<", "latency", "edp", "verified"]


def test_landmarks_are_corners_and_the_knee():
    points = [scored(e, bits) for e, bits in ((1.0, 100), (1.1, 20), (2.0, 12), (9.0, 8))]
    front = Front(points, ("energy", "latency", "usage.B<"))
    assert front.landmarks() == {0: "least energy", 1: "knee", 3: "least usage.B<"}
    assert Front(points[:1]).landmarks() == {}


def test_a_long_front_is_cut_to_landmarks_and_points_between():
    points = [scored(1.0 + n, 1000 - n * n) for n in range(30)]
    front = Front(points, ("energy", "usage.B<"))
    numbers = front.shortened(8)
    assert len(numbers) == 8
    assert set(front.landmarks()) <= set(numbers)
    assert list(numbers) == sorted(numbers)
    assert front.shortened(30) == tuple(range(30))
    assert set(front.shortened(1)) == set(front.landmarks())


def test_rows_have_digits_enough_to_tell_them_apart():
    points = [scored(1e-9 * (1 + n / 1000), 64) for n in range(3)]
    rows = Front(points, ("energy",)).table(range(3))
    assert [row[1] for row in rows[1:]] == ["1.000 nJ", "1.001 nJ", "1.002 nJ"]
