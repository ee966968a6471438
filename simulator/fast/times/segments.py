"""Lists of affine segments: rows (t, r, m) stand for the times t, t + r, ..., t + (m - 1) r.

Example: 3, 4, 5, 9 are the rows (3, 1, 3) and (9, 0, 1). A list is a table (capacity, 3) and a
number of rows; kernels return the new number, or FULL. All results are exact integers
(engines.md §3).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel, kernel, whole

Ints = npt.NDArray[np.int64]
NEVER: Final = -(1 << 60)
"""Earlier than every cycle: a condition that is unknown or absent."""
EARLY: Final = -(1 << 50)
"""A smaller number is NEVER plus some cycles."""
ALIKE: Final = 1 << 50
"""Later than every cycle: lists of times that do not differ."""
FULL: Final = -2
T, R, M = range(3)


class SegmentSlice(NamedTuple):
    """Name a part of a list of segments: `size` times from number `skip` on, `shift` later.

    rows: segments of the list; a segment (t, r, m) stands for the times t, t + r, ... m times.
    """

    rows: int
    skip: int
    size: int
    shift: int


class LinePair(NamedTuple):
    """Hold two sequences of equally spaced times.

    `first_start`, `first_step`: first time of the first sequence, and the cycles between two of its
    times; `second_start`, `second_step`: the same of the second sequence.
    """

    first_start: int
    first_step: int
    second_start: int
    second_step: int


class SegmentCounts(NamedTuple):
    """Hold how many segments each of two lists of times has: `first` and `second`.

    A segment (t, r, m) stands for the times t, t + r, ... m times.
    """

    first: int
    second: int


@kernel
def append(out: Ints, n: int, t: int, r: int, m: int) -> int:
    """Append a segment of times to a list; return the new number of segments.

    The segment is t, t + r, ... m times. It is merged with the last one if it continues its steps.
    n: segments so far; out: (capacity, 3), changed. A negative n (an earlier failure) is returned,
    and m <= 0 appends nothing. Returns FULL (-2) if there is no space.
    """
    if n < 0 or m <= 0:
        return n
    if n > 0:
        last = n - 1
        first, count = out[last, T], out[last, M]
        if count == 1 and t - first >= 0 and first > EARLY and (m == 1 or r == t - first):
            out[last, R] = t - first
            out[last, M] = m + 1
            return n
        if count > 1 and t == first + out[last, R] * count and (m == 1 or r == out[last, R]):
            out[last, M] = count + m
            return n
    if n == out.shape[0]:
        return FULL
    out[n, T] = t
    out[n, R] = r
    out[n, M] = m
    return n + 1


@inline_kernel
def copy(out: Ints, source: Ints, count: int) -> None:
    """Copy the first `count` segments of one list of times to another, from its start on.

    A segment (t, r, m) stands for the times t, t + r, ... m times; a list is (capacity, 3).
    """
    for i in range(count):
        for column in range(3):
            out[i, column] = source[i, column]


@inner_kernel
def append_never(out: Ints, n: int, m: int) -> int:
    """Append `m` times NEVER (unknown, before every cycle); return the segments or FULL (-2).

    n: segments of the list `out` so far.
    """
    return append(out, n, whole(NEVER), whole(0), m)


@kernel
def append_slice(out: Ints, n: int, source: Ints, part: SegmentSlice) -> int:
    """Append a part of one list of times, shifted, to another; return its segments or FULL (-2).

    n: segments of `out` so far; part: how many segments the source has, and which times to take.
    """
    count, skip, size, shift = part
    for i in range(count):
        m = source[i, M]
        if skip >= m:
            skip -= m
            continue
        take = min(size, m - skip)
        n = append(out, n, source[i, T] + source[i, R] * skip + shift, source[i, R], take)
        skip = 0
        size -= take
        if size == 0:
            break
    return n


@inner_kernel
def maximum_of_lines(out: Ints, n: int, lines: LinePair, k: int) -> int:
    """Append the pointwise maximum of two sequences of k equally spaced times to a list.

    It needs at most two segments, as the lines cross once (engines.md §3). Returns the number of
    segments, or FULL (-2). Example: 0, 4, 8 and 3, 4, 5 give 3, 4, 8.
    """
    ta, ra, tb, rb = lines
    above = ta + ra * (k - 1) - tb - rb * (k - 1)
    if ta >= tb and above >= 0:
        return append(out, n, ta, ra, k)
    if ta <= tb and above <= 0:
        return append(out, n, tb, rb, k)
    if ta > tb:
        first = (ta - tb) // (rb - ra) + 1
        n = append(out, n, ta, ra, first)
        return append(out, n, tb + rb * first, rb, k - first)
    first = (tb - ta) // (ra - rb) + 1
    n = append(out, n, tb, rb, first)
    return append(out, n, ta + ra * first, ra, k - first)


@kernel
def maximum(out: Ints, a: Ints, b: Ints, counts: SegmentCounts) -> int:
    """Write the pointwise maximum of two lists of equally many times; return its segments.

    a, b, out: segments (t, r, m), each t, t + r, ... m times; counts: segments of a and b. Returns
    FULL (-2) if the result does not fit.
    """
    na, nb = counts
    n = i = j = done_a = done_b = 0
    while i < na and j < nb:
        k = min(a[i, M] - done_a, b[j, M] - done_b)
        start_a, start_b = a[i, T] + a[i, R] * done_a, b[j, T] + b[j, R] * done_b
        n = maximum_of_lines(out, n, LinePair(start_a, a[i, R], start_b, b[j, R]), k)
        done_a += k
        done_b += k
        if done_a == a[i, M]:
            i += 1
            done_a = 0
        if done_b == b[j, M]:
            j += 1
            done_b = 0
    return n


@kernel
def paced(out: Ints, x: Ints, count: int, gap: int, start: int) -> int:
    """Write the earliest times that are not before x and at least `gap` apart; return the segments.

    They are the least y with y(i) >= x(i), y(0) >= start and y(i) >= y(i - 1) + gap. x: `count`
    segments (t, r, m), each t, t + r, ... m times. Example: x = 0, 0, 9 with gap 2 and start 1
    gives 1, 3, 9. Returns FULL (-2) if the result does not fit.
    """
    n = 0
    earliest = start
    for i in range(count):
        t, r, m = x[i, T], x[i, R], x[i, M]
        while m > 0:
            if t >= earliest and (r >= gap or m == 1):
                n = append(out, n, t, r, m)
                earliest = t + r * (m - 1) + gap
                break
            if t >= earliest:
                n = append(out, n, t, gap, m)
                earliest = t + gap * m
                break
            k = m if r <= gap else min(m, (earliest - t + r - gap - 1) // (r - gap))
            n = append(out, n, earliest, gap, k)
            earliest += gap * k
            t += r * k
            m -= k
    return n


@kernel
def first_difference(a: Ints, b: Ints, counts: SegmentCounts) -> Word:
    """Return the earliest time at which two lists of times differ, ALIKE if they do not.

    A segment (t, r, m) stands for t, t + r, ... m times, however a list is cut; counts: segments of
    both lists. Example: 3, 4, 5 and 3, 4, 7 differ from 5 on, 3, 4 and 3, 4, 7 from 7 on.
    """
    na, nb = counts
    i = j = done_a = done_b = 0
    while i < na and j < nb:
        k = min(a[i, M] - done_a, b[j, M] - done_b)
        first_a, first_b = a[i, T] + a[i, R] * done_a, b[j, T] + b[j, R] * done_b
        if first_a != first_b:
            return min(first_a, first_b)
        if k > 1 and a[i, R] != b[j, R]:
            return min(first_a + a[i, R], first_b + b[j, R])
        done_a += k
        done_b += k
        if done_a == a[i, M]:
            i += 1
            done_a = 0
        if done_b == b[j, M]:
            j += 1
            done_b = 0
    if i < na:
        return a[i, T] + a[i, R] * done_a
    return b[j, T] + b[j, R] * done_b if j < nb else ALIKE


@inner_kernel
def segments_share_time(a: Ints, i: int, b: Ints, j: int) -> bool:
    """Return whether segment i of list a and segment j of list b have a time in common.

    Lists: shape (segments, 3). Example: 0, 3, 6 and 2, 4, 6 have 6.
    """
    low = max(a[i, T], b[j, T])
    high = min(a[i, T] + a[i, R] * (a[i, M] - 1), b[j, T] + b[j, R] * (b[j, M] - 1))
    ra, rb = max(a[i, R], 1), max(b[j, R], 1)
    if low > high:
        return False
    t = a[i, T] + (low - a[i, T] + ra - 1) // ra * ra
    while t <= high:
        if (t - b[j, T]) % rb == 0:
            return True
        if rb == 1 or t + ra > high or (t - low) // ra >= rb:
            return False
        t += ra
    return False


@kernel
def lists_share_time(a: Ints, b: Ints, counts: SegmentCounts) -> bool:
    """Return whether two strictly increasing lists of times have a time in common.

    a, b: segments (t, r, m), each t, t + r, ... m times; counts: segments of both.
    """
    na, nb = counts
    i = j = 0
    while i < na and j < nb:
        if segments_share_time(a, i, b, j):
            return True
        end_a = a[i, T] + a[i, R] * (a[i, M] - 1)
        end_b = b[j, T] + b[j, R] * (b[j, M] - 1)
        if end_a <= end_b:
            i += 1
        else:
            j += 1
    return False


@kernel
def excess(a: Ints, b: Ints, counts: SegmentCounts) -> int:
    """Return the sum of max(0, a(i) - b(i)) over two lists of equally many times, in cycles.

    a, b: segments (t, r, m), each t, t + r, ... m times; counts: segments of both.
    """
    na, nb = counts
    total = i = j = done_a = done_b = 0
    while i < na and j < nb:
        k = min(a[i, M] - done_a, b[j, M] - done_b)
        first = a[i, T] + a[i, R] * done_a - b[j, T] - b[j, R] * done_b
        rise = a[i, R] - b[j, R]
        low = 0
        high = k
        if rise > 0 and first < 0:
            low = min(k, (-first + rise - 1) // rise)
        elif rise < 0:
            high = 0 if first <= 0 else min(k, (first - 1) // -rise + 1)
        elif rise == 0 and first <= 0:
            high = 0
        points = max(0, high - low)
        total += points * first + rise * ((low + high - 1) * points // 2)
        done_a += k
        done_b += k
        if done_a == a[i, M]:
            i += 1
            done_a = 0
        if done_b == b[j, M]:
            j += 1
            done_b = 0
    return total


@inner_kernel
def expand(segments: Ints, n: int, out: Ints) -> None:
    """Write the times of a list of n segments one by one to `out`, which must be long enough.

    A segment (t, r, m) stands for t, t + r, ... m times.
    """
    k = 0
    for i in range(n):
        for j in range(segments[i, M]):
            out[k] = segments[i, T] + segments[i, R] * j
            k += 1
