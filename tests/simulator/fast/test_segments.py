"""Lists of affine segments against plain sequences of numbers."""

from itertools import zip_longest

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.fast.times.segments import (
    ALIKE,
    FULL,
    SegmentCounts,
    SegmentSlice,
    append,
    append_slice,
    excess,
    first_difference,
    lists_share_time,
    maximum,
    paced,
)

ROOM = 256
PIECES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=8
)


def listed(numbers: list[int]) -> tuple[np.ndarray, int]:
    """Return a sequence as segments, appended one number at a time."""
    out, n = np.zeros((ROOM, 3), dtype=np.int64), 0
    for number in numbers:
        n = append(out, n, number, 0, 1)
    return out, n


def numbers(segments: np.ndarray, n: int) -> list[int]:
    return [t + r * i for t, r, m in segments[:n].tolist() for i in range(m)]


def spread(pieces: list[tuple[int, int, int]], *, least: int = 0) -> list[int]:
    """Return the sequence of pieces (gap before, rate, count); it rises by `least` or more."""
    found: list[int] = []
    at = 0
    for gap, rate, count in pieces:
        at += max(gap, least)
        for _ in range(count):
            found.append(at)
            at += max(rate, least)
    return found


@given(PIECES)
def test_append_keeps_the_sequence(pieces: list[tuple[int, int, int]]) -> None:
    assert numbers(*listed(spread(pieces))) == spread(pieces)


@given(PIECES, st.integers(0, 80), st.integers(1, 80), st.integers(-5, 5))
def test_slices(pieces: list[tuple[int, int, int]], skip: int, size: int, shift: int) -> None:
    sequence = spread(pieces)
    segments, n = listed(sequence)
    skip = min(skip, len(sequence) - 1)
    size = min(size, len(sequence) - skip)
    out = np.zeros((ROOM, 3), dtype=np.int64)
    count = append_slice(out, 0, segments, SegmentSlice(n, skip, size, shift))
    assert numbers(out, count) == [x + shift for x in sequence[skip : skip + size]]


@given(PIECES, PIECES)
def test_maximum_and_excess(a: list[tuple[int, int, int]], b: list[tuple[int, int, int]]) -> None:
    left, right = spread(a), spread(b)
    size = min(len(left), len(right))
    left, right = left[:size], right[:size]
    (first, n), (second, m) = listed(left), listed(right)
    out = np.zeros((ROOM, 3), dtype=np.int64)
    counts = SegmentCounts(n, m)
    count = maximum(out, first, second, counts)
    assert numbers(out, count) == [max(x, y) for x, y in zip(left, right, strict=True)]
    above = sum(max(0, x - y) for x, y in zip(left, right, strict=True))
    assert excess(first, second, counts) == above


@given(PIECES, PIECES, st.integers(0, 30))
def test_first_difference(
    a: list[tuple[int, int, int]], b: list[tuple[int, int, int]], common: int
) -> None:
    left = spread(a)
    right = [*left[:common], *spread(b)]
    (first, n), (second, m) = listed(left), listed(right)
    pairs = zip_longest(left, right, fillvalue=ALIKE)
    expected = next((min(x, y) for x, y in pairs if x != y), ALIKE)
    assert first_difference(first, second, SegmentCounts(n, m)) == expected


@given(PIECES, st.integers(1, 5), st.integers(0, 100))
def test_paced(pieces: list[tuple[int, int, int]], gap: int, start: int) -> None:
    sequence = spread(pieces)
    segments, n = listed(sequence)
    out = np.zeros((ROOM, 3), dtype=np.int64)
    count = paced(out, segments, n, gap, start)
    expected, due = [], start
    for number in sequence:
        expected.append(max(number, due))
        due = expected[-1] + gap
    assert numbers(out, count) == expected


@settings(max_examples=50)
@given(PIECES, PIECES, st.integers(0, 60))
def test_lists_with_a_common_time(
    a: list[tuple[int, int, int]], b: list[tuple[int, int, int]], later: int
) -> None:
    left = spread(a, least=1)
    right = [x + later for x in spread(b, least=1)]
    (first, n), (second, m) = listed(left), listed(right)
    assert lists_share_time(first, second, SegmentCounts(n, m)) == bool(set(left) & set(right))


def test_a_full_list_says_so() -> None:
    out, n = np.zeros((3, 3), dtype=np.int64), 0
    for number in (0, 1, 5, 6, 20, 21):
        n = append(out, n, number, 0, 1)
    assert n == 3
    assert append(out, n, 99, 0, 1) == FULL
    assert append(out, FULL, 100, 0, 1) == FULL
