"""The Einsums of random designs: single ones, chains, graphs, copies, windows, indices."""

from __future__ import annotations

MATMUL = ("Z[m, n] = A[m, k] * B[k, n]",)
SINGLE = (
    MATMUL,
    ("Z[m] = A[m, k] * B[k]",),
    ("Z[b, m, n] = A[b, m, k] * B[b, k, n]",),
    ("Z[m, n] = A[m, n] * B[n]",),
    ("Z[m, n] = A[m] * B[n]",),
    ("Z[p] = A[W: p + r] * B[r]",),
    ("Z[m, p] = A[c, W: 2 * p + r] * B[c, m, r]",),
    ("Z[m, n] = A[m, k] * B[k, n] * C[m]",),
)
CHAINS = (
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[m, n] = Y[m, n] * C[n]"),
    ("Y[m, n] = A[m, n] * B[n]", "X[m, n] = Y[m, n] * C[m]", "Z[m, p] = X[m, n] * D[n, p]"),
    ("Y[m] = A[m, k] * B[k]", "Z[m, n] = Y[m] * C[n]"),
)
SLIDING = (
    ("Y[c, p] = A[c, W: p + r] * B[c, r]", "Z[m, p] = Y[c, p] * C[c, m]"),
    ("Y[c, p] = A[c] * B[p]", "Z[m, q] = Y[c, P: q + r] * C[c, m, r]"),
    ("Y[p] = A[W: p + r] * B[r]", "Z[q] = Y[P: q + s] * C[s]"),
)
DAGS = (
    ("V[m, n] = A[m, k] * B[k, n]", "W[m, n] = A[m, k] * C[k, n]", "Z[m, n] = V[m, n] * W[m, n]"),
    ("Y[m, n] = A[m, n] * B[n]", "X[m, n] = Y[m, n] * C[m]", "Z[m, n] = X[m, n] * Y[m, n]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "X[m] = Y[m, n] * C[n]", "Z[n] = Y[m, n] * D[m]"),
    ("Y[m] = A[m, k] * B[k]", "X[n] = D[n, k] * B[k]", "Z[m, n] = Y[m] * X[n]"),
    ("Y[m] = A[m] * B[m]", "X[m] = Y[m] * C[m]", "V[m] = Y[m] * D[m]", "Z[m] = X[m] * V[m]"),
)
COPIES = (
    ("copy Y[m, k] = A[m, k]", "Z[m, n] = Y[m, k] * B[k, n]"),
    ("copy Y[m, k] = A[m, k]", "V[m, n] = Y[m, k] * B[k, n]", "W[m, n] = Y[m, k] * C[k, n]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "copy X[m, n] = Y[m, n]", "Z[m, n] = X[m, n] * C[n]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "copy Z[m, n] = Y[m, n]"),
)
RENAMED = (
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[d, f] = Y[M: d, N: e] * C[e, f]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[d, n] = Y[M: d, N: n] * C[n]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[n, f] = Y[M: n, N: e] * C[e, f]"),
    ("Y[m, n] = A[m, n] * B[n]", "X[d] = Y[M: d, N: e] * C[e]", "Z[g] = X[D: g] * D[g]"),
)
WINDOWS = (
    ("Z[m, p] = A[c, W: p + 2 * r] * B[c, m, r]",),
    ("Z[p, q] = A[H: p + r, W: q + s] * B[r, s]",),
    ("Z[m, p] = A[m, W: 2 * p + r] * B[m, r]",),
    ("Z[p] = A[W: 3 * p + r] * B[r]",),
    ("Z[p] = A[W: 2 * p + 2 * r] * B[r]",),
    ("Z[m, p, q] = A[H: 2 * p + r, W: 2 * q + s] * B[m, r, s]",),
    ("Z[b, p] = A[b, W: p + r] * B[b, r]",),
    ("Z[p] = A[W: p + r + s] * B[r, s]",),
)
INDEXED = (
    ("Z[m, n] = A[X: m + 2, k] * B[k, n]",),
    ("Z[m, n] = A[X: m + n + 1] * B[n]",),
    ("Z[m, n] = A[X: 2 * m + 1, k] * B[k, n]",),
    ("Z[Q: p + 1, n] = A[p, k] * B[k, n]",),
    ("Z[m, n] = A[X: 3, k, m] * B[k, n]",),
    ("Z[m, n] = A[X: m, V: m, k] * B[k, n]",),
    ("Z[Q: 2 * p, n] = A[p, k] * B[k, V: 3 * n]",),
    ("Z[m, p] = A[c, W: 2 * p + r + 1] * B[c, m, r]",),
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[p, n] = Y[M: 2 * p, N: n] * C[n]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[p, n] = Y[M: 2 * p + 1, N: n] * C[n]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[p, n] = Y[M: p + 1, N: n] * C[n]"),
    ("Y[m, n] = A[X: m + 1, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[n] = Y[M: 1, N: n] * C[n]"),
)
CONVOLUTIONS = (
    ("Z[c, p] = A[c, W: p + r] * B[c, r]",),
    ("Z[c, p, q] = A[c, H: p + r, W: q + s] * B[c, r, s]",),
    ("Z[g, m, p] = A[g, c, W: p + r] * B[g, c, m, r]",),
    ("Z[m, p] = A[c, W: p + 2 * r] * B[c, m, r]",),
    ("Z[m, p] = A[c, W: 3 * p + 2 * r] * B[c, m, r]",),
    ("Z[b, m, p] = A[b, c, W: 2 * p + r] * B[c, m, r]",),
    ("Z[m, p, q] = A[c, H: p + r, W: q + s] * B[c, m, r, s]",),
)
SEVERAL_INPUTS = (
    ("Z[m, n] = A[m, k] * B[k, n] * C[m] * D[n]",),
    ("Z[m] = A[m] * B[m] * C[m] * D[m]",),
    ("Z[i, j] = A[i, k] * B[j, k] * C[k]",),
    ("Z[i, j] = A[i, k, h] * B[j, k] * C[j, h]",),
    ("Z[m, n] = A[m] * B[n] * C[m, n]",),
    ("Z[a] = A[a, k] * B[k] * C[k] * D[a]",),
)
REDUCTIONS = (
    ("Z[o] = A[k] * B[k]",),
    ("Z[o] = A[m, k] * B[k]",),
    ("Z[m] = A[m, k]",),
    ("Z[m, n] = A[n, m]",),
    ("Z[k, m, n] = A[m, k] * B[k, n]",),
    ("Y[m] = A[m, k] * B[k]", "Z[o] = Y[m] * C[m]"),
    ("Y[m, n] = A[m, n]", "X[m] = Y[m, n] * B[n]", "Z[m, n] = Y[m, n] * X[m]"),
)
GRAPHS = (
    ("Y[m] = A[m] * B[m]", "X[m] = Y[m] * C[m]", "V[m] = X[m] * D[m]", "Z[m] = V[m] * E[m]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "X[m, n] = Y[m, n] * C[n]", "V[m, n] = Y[m, n] * D[m]",
     "Z[m, n] = X[m, n] * V[m, n]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "X[m, k] = Y[m, n] * C[n, k]", "Z[m, k] = X[m, k] * A[m, k]"),
    ("Y[m, n] = A[m, k] * B[n, k]", "X[m, n] = Y[m, n] * C[m]", "Z[m, d] = X[m, n] * D[n, d]"),
    ("Y[h, m] = A[m, k] * B[h, k]", "X[h, n] = C[n, k] * D[h, k]",
     "Z[h, m, n] = Y[h, m] * X[h, n]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "X[m] = Y[m, n] * C[n]", "Z[m, n] = Y[m, n] * X[m]"),
    ("Y[c, p] = A[c, W: p + r] * B[c, r]", "X[c, p] = Y[c, p] * C[c]",
     "Z[m, p] = X[c, p] * D[c, m]"),
)  # fmt: skip
