"""Lists of affine segments: a sequence of times as rows (t, r, m): t, t + r, ..., m of them.

The four primitives of engines.md §3, exact on integers. A list is a table and its length;
kernels return the new length, or FULL.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel, kernel, whole

Ints = npt.NDArray[np.int64]
NEVER: Final = -(1 << 60)
"""Earlier than every cycle: an unknown or absent condition."""
EARLY: Final = -(1 << 50)
"""What is less is NEVER, whatever was added to it."""
FULL: Final = -2
T, R, M = range(3)


@kernel
def append(out: Ints, n: int, t: int, r: int, m: int) -> int:
    """Append a segment, merged with the last one where the sequence goes on evenly."""
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
    """Write a list of `count` segments."""
    for i in range(count):
        for column in range(3):
            out[i, column] = source[i, column]


@inner_kernel
def append_never(out: Ints, n: int, m: int) -> int:
    """Append unknown times. The casts spare the compiler variants for literal numbers."""
    return append(out, n, whole(NEVER), whole(0), m)


@kernel
def append_slice(out: Ints, n: int, source: Ints, span: tuple[int, int, int, int]) -> int:
    """Append `size` times of a list of `count` segments from index `skip` on, `shift` later."""
    count, skip, size, shift = span
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
def upper_piece(out: Ints, n: int, lines: tuple[int, int, int, int], k: int) -> int:
    """Append the maximum of two lines (t, r) on k points."""
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
def upper(out: Ints, a: Ints, b: Ints, counts: tuple[int, int]) -> int:
    """Write the pointwise maximum of two lists of the same number of times."""
    na, nb = counts
    n = i = j = done_a = done_b = 0
    while i < na and j < nb:
        k = min(a[i, M] - done_a, b[j, M] - done_b)
        lines = (a[i, T] + a[i, R] * done_a, a[i, R], b[j, T] + b[j, R] * done_b, b[j, R])
        n = upper_piece(out, n, lines, k)
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
    """Write the least y with y >= x, y(0) >= start and y(i) >= y(i - 1) + gap."""
    n = 0
    c = start
    for i in range(count):
        f, r, m = x[i, T], x[i, R], x[i, M]
        while m > 0:
            if f >= c and (r >= gap or m == 1):
                n = append(out, n, f, r, m)
                c = f + r * (m - 1) + gap
                break
            if f >= c:
                n = append(out, n, f, gap, m)
                c = f + gap * m
                break
            k = m if r <= gap else min(m, (c - f + r - gap - 1) // (r - gap))
            n = append(out, n, c, gap, k)
            c += gap * k
            f += r * k
            m -= k
    return n


@kernel
def same(a: Ints, b: Ints, counts: tuple[int, int]) -> bool:
    """Return whether two lists of the same number of times are equal."""
    na, nb = counts
    i = j = done_a = done_b = 0
    while i < na and j < nb:
        k = min(a[i, M] - done_a, b[j, M] - done_b)
        if a[i, T] + a[i, R] * done_a != b[j, T] + b[j, R] * done_b:
            return False
        if k > 1 and a[i, R] != b[j, R]:
            return False
        done_a += k
        done_b += k
        if done_a == a[i, M]:
            i += 1
            done_a = 0
        if done_b == b[j, M]:
            j += 1
            done_b = 0
    return i == na and j == nb


@inner_kernel
def line_meets(a: Ints, i: int, b: Ints, j: int) -> bool:
    """Return whether two segments have a time in common."""
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
def meets(a: Ints, b: Ints, counts: tuple[int, int]) -> bool:
    """Return whether two strictly increasing lists have a time in common."""
    na, nb = counts
    i = j = 0
    while i < na and j < nb:
        if line_meets(a, i, b, j):
            return True
        end_a = a[i, T] + a[i, R] * (a[i, M] - 1)
        end_b = b[j, T] + b[j, R] * (b[j, M] - 1)
        if end_a <= end_b:
            i += 1
        else:
            j += 1
    return False


@kernel
def excess(a: Ints, b: Ints, counts: tuple[int, int]) -> int:
    """Return the sum of max(0, a - b) over two lists of the same number of times."""
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
    """Write the times of a list one by one."""
    k = 0
    for i in range(n):
        for j in range(segments[i, M]):
            out[k] = segments[i, T] + segments[i, R] * j
            k += 1
