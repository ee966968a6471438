"""Numbers and sentences for people."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tilewright.dse.report.conclusion import compare
from tilewright.dse.report.details import MAX_LANES, MAX_SPANS, Spans, timeline
from tilewright.dse.report.reasons import group_reasons
from tilewright.dse.report.units import quantity
from tilewright.dse.run.record import Trial


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (3.42e-6, "energy", "3.42 µJ"),
        (1e-3, "latency", "1 ms"),
        (0.999e-3, "latency", "999 µs"),
        (5.5e-4, "area", "550 mm²"),
        (48 * 1024 * 8, "sram_bits", "48 KiB"),
        (100, "sram_bits", "12.5 B"),
        (1234567, "cycles", "1,234,567 cycles"),
        (0, "energy", "0 J"),
        (0.4567, "utilization", "0.457"),
        (2e-25, "edp", "2e-25 J·s"),
    ],
)
def test_quantity(value, metric, text):
    assert quantity(value, metric) == text


@pytest.mark.parametrize(
    ("value", "reference", "goal", "words"),
    [
        (1.0, 2.6, "minimize", ("2.6× lower", True)),
        (112.0, 100.0, "minimize", ("12 % higher", False)),
        (99.9, 100.0, "minimize", ("0.1 % lower", True)),
        (3.0, 1.0, "maximize", ("3× higher", True)),
        (5.0, 5.0, "minimize", ("the same", None)),
    ],
)
def test_compare(value, reference, goal, words):
    assert compare(value, reference, goal) == words


def trial(number, reason, status="infeasible", same_as=None):
    return Trial(number=number, batch=0, key=str(number), point={}, status=status, reason=reason,
                 same_as=same_as)  # fmt: skip


def test_reasons_that_differ_in_numbers_only_are_one():
    groups = group_reasons(
        [
            trial(0, "SRAM needs 50,000 bytes, has 49152\n  at: x"),
            trial(1, "SRAM needs 61,234 bytes, has 49152"),
            trial(2, "SRAM needs 61,234 bytes, has 49152", same_as=1),
            trial(3, "k = 12 does not divide over 5 elements along Y"),
            trial(4, None, "feasible"),
        ]
    )
    assert [(g.count, g.pattern) for g in groups] == [
        (2, "SRAM needs # bytes, has #"),
        (1, "k = # does not divide over # elements along Y"),
    ]
    assert groups[0].numbers == (0, 1)


def test_a_line_is_the_same_trial_again():
    before = trial(3, "Übergröße", same_as=1)
    assert Trial.from_line(before.to_line()) == before


def spans_of(listed):
    """Spans as the arrays that `timeline` takes, from (start, end, what, kind)."""
    names = sorted({(what, kind) for _, _, what, kind in listed})
    kinds = [names.index((what, kind)) for _, _, what, kind in listed]
    start, end = ([span[column] for span in listed] for column in (0, 1))
    return Spans(*(np.array(part, dtype=np.int64) for part in (start, end, kinds)), names)


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
