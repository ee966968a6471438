"""Small workloads of several Einsums for the shipped grid of elements."""

from __future__ import annotations

from functools import cache

from grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

CASCADES: dict[str, tuple[str, ...]] = {
    "product, row sums": ("S[m, n] = A[m, k] * B[k, n]", "Z[m] = S[m, n]"),
    "two products": ("S[m, n] = A[m, k] * B[k, n]", "Z[m, l] = S[m, n] * C[n, l]"),
    "normalized rows": ("D[m] = A[m, n]", "Z[m, n] = A[m, n] / (square(D[m]) + 1)"),
    "elementwise chain": (
        "S[m, n] = exp(A[m, n])",
        "T[m, n] = S[m, n] + A[m, n]",
        "Z[m] = T[m, n]",
    ),
    "smoothing": (
        "S[m, n] = A[m, n] + 1",
        "Z[m, n] = S[M: m + j - 1, N: n + l - 1] * C[j, l]",
    ),
    "read twice": ("S[m] = A[m, k]", "T[m] = square(S[m])", "Z[m] = S[m] * T[m]"),
}
"""Name and Einsums, in the order of their execution."""
TWO_PRODUCTS = """
workload:
  rank_sizes: {M: 64, K: 64, N: 64, J: 64}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "Z[m, j] = Y[m, n] * C[n, j]", renames: {input: Y, weight: C, output: Z}}
"""
"""A workload of bytes: a product of matrices, and another of its result."""


@cache
def cascade_workload(name: str, m: int = 4, n: int = 4, k: int = 4) -> Workload:
    """The workload of one cascade."""
    einsums = "\n".join(f'  - "{text}"' for text in CASCADES[name])
    window = 3 if name == "smoothing" else 4
    used = {v.upper(): s for v, s in {"m": m, "n": n, "k": k, "l": window, "j": 3}.items()}
    sizes = {v: s for v, s in used.items() if v.lower() in " ".join(CASCADES[name])}
    shapes = ", ".join(f"{variable}: {size}" for variable, size in sizes.items())
    text = (
        f"workload:\n  rank_sizes: {{{shapes}}}\n  bits_per_value: {{All: 32}}\n"
        "  pad: {M: 1, N: 1}\n"
        f"  einsums:\n{einsums}\n"
    )
    return load_workload(load_document(f"{name}.yaml", text=text))


@cache
def cascade_arch(columns: int, rows: int) -> Arch:
    """The shipped grid of elements in some size."""
    return load_arch(HARDWARE).with_values({"variables.GridX": columns, "variables.GridY": rows})
