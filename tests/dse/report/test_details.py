"""Timelines of a design, shortened for the report."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tilewright.dse.report.details import MAX_LANES, MAX_SPANS, LaneSpans, timeline


def spans_of(listed):
    """Spans as the arrays that `timeline` takes, from (start, end, what, kind)."""
    names = sorted({(what, kind) for _, _, what, kind in listed})
    kinds = [names.index((what, kind)) for _, _, what, kind in listed]
    start, end = ([span[column] for span in listed] for column in (0, 1))
    return LaneSpans(*(np.array(part, dtype=np.int64) for part in (start, end, kinds)), names)


def joined_one_by_one(listed):
    size = -(-len(listed) // MAX_SPANS)
    groups = [listed[at : at + size] for at in range(0, len(listed), size)]
    found = []
    for group in groups:
        time = {}
        for start, end, _, kind in group:
            time[kind] = time.get(kind, 0) + end - start
        most = max(sorted(time), key=lambda kind: time[kind])
        what = f"{len(group)} operations with the pauses between them, mostly {most}"
        told = group[0][2:] if len(group) == 1 else (what, most)
        found.append([float(group[0][0]), float(group[-1][1]), *told])
    return found


@pytest.mark.parametrize("count", [1, 2, 119, 120, 121, 241, 1000, 1201])
def test_a_long_timeline_is_joined_as_one_by_one(count):
    rng = np.random.default_rng(count)
    starts = np.cumsum(rng.integers(1, 4, count)).tolist()
    listed = [
        (start, start + int(rng.integers(0, 3)), f"what {rng.integers(3)}", "abc"[rng.integers(3)])
        for start in starts
    ]
    assert timeline("s", 1.0, [("x", spans_of(listed))])["lanes"][0]["spans"] == joined_one_by_one(
        listed
    )


def test_a_long_timeline_keeps_its_whole_length():
    listed = [(2 * at, 2 * at + 1, "one", "a" if at % 3 else "b") for at in range(1000)]
    spans = spans_of(listed)
    shown = timeline("cycles", 2000.0, [(f"lane {at}", spans) for at in range(50)])
    assert len(shown["lanes"]) == MAX_LANES
    assert (shown["lanes"][0]["name"], shown["lanes"][-1]["name"]) == ("lane 0", "lane 49")
    found = shown["lanes"][3]["spans"]
    assert len(found) <= MAX_SPANS
    assert (found[0][0], found[-1][1]) == (0.0, 1999.0)
    assert all(before[1] < after[0] for before, after in pairwise(found))
    assert found[0][2].startswith("9 operations")
    assert timeline("s", 0.0, [])["lanes"] == []
    few = timeline("s", 1.0, [("only", spans_of(listed[:2]))])["lanes"][0]["spans"]
    assert few == [*map(list, listed[:2])]
