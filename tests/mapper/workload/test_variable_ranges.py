"""Ranges of rank variables, from sizes of ranks and written bounds."""

from __future__ import annotations

from tilewright.mapper.workload.einsum import Affine
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload


def load(einsums: str, sizes: str = "M: 4, N: 8, K: 6", more: str = "") -> Workload:
    lines = "".join(f"  - {line.strip()}\n" for line in einsums.strip().splitlines())
    return load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 8}}\n{more}"
        f"  einsums:\n{lines}"
    )


def test_convolution_takes_what_the_rank_leaves() -> None:
    """H has 10 positions; the space is a box, so p gets what is left when r is at 0."""
    einsum = load('"O[p] = I[H: p + r] * W[r]"', "H: 10, R: 3").einsum("O")
    assert einsum.bounds == {"p": 10, "r": 3}
    narrow = load('"O[p] = I[H: 2*p + r] * W[r]"', "H: 10, R: 3").einsum("O")
    assert narrow.bounds == {"p": 5, "r": 3}


def test_written_bounds_shift_and_cut() -> None:
    shape = "  iteration_space_shape: {a: 2 <= a < 10}\n"
    einsum = load('"Z[a] = A[H: 3*a]"', "X: 1", shape).einsum("Z")
    assert einsum.bounds == {"a": 8}
    assert einsum.access("A").projection[0][1] == Affine((("a", 3),), 6)
    both = load('"Z[a, b] = A[a, b]"', "B: 7", "  iteration_space_shape: [0 <= a < 5 and b <= 3]\n")
    assert both.einsum("Z").bounds == {"a": 5, "b": 4}
