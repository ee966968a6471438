"""Numbers and sentences for people."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tilewright.dse.conclusion import compare
from tilewright.dse.details import MAX_LANES, MAX_SPANS, timeline
from tilewright.dse.reasons import group_reasons
from tilewright.dse.record import Trial
from tilewright.dse.units import quantity


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


def test_a_long_timeline_keeps_its_whole_length():
    spans = [(float(2 * at), 2.0 * at + 1, "one", "a" if at % 3 else "b") for at in range(1000)]
    shown = timeline("cycles", 2000.0, [(f"lane {at}", spans) for at in range(50)])
    assert len(shown["lanes"]) == MAX_LANES
    assert (shown["lanes"][0]["name"], shown["lanes"][-1]["name"]) == ("lane 0", "lane 49")
    found = shown["lanes"][3]["spans"]
    assert len(found) <= MAX_SPANS
    assert (found[0][0], found[-1][1]) == (0.0, 1999.0)
    assert all(before[1] < after[0] for before, after in pairwise(found))
    assert found[0][2].startswith("9 operations")
    assert timeline("s", 0.0, [])["lanes"] == []
    assert timeline("s", 1.0, [("only", spans[:2])])["lanes"][0]["spans"] == [*map(list, spans[:2])]
