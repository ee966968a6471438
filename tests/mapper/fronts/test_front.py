"""The front of a search: a tuple that knows its metrics and shows itself."""

from __future__ import annotations

import json
import pickle

import pytest

from tilewright.mapper.fronts.front import Front, shown
from tilewright.mapper.mapping.mapping import Compute, Mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.result import ScoredMapping


def scored(energy: float, bits: int) -> ScoredMapping:
    score = Score(energy, 2.0, 0.0, 0.0, energy, 0.0, capacity={"B<": bits})
    return ScoredMapping(Mapping((Compute("Z", "MAC"),)), score)


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
    assert shown(8.0, "usage.B<") == "1 B"


def test_pandas():
    pytest.importorskip("pandas")
    table = FRONT.to_pandas()
    assert table["energy"].tolist() == [1e-9, 2e-9]
    assert list(table.columns) == ["energy", "usage.B<", "latency", "edp", "verified"]
