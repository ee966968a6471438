"""Two matrix products in a row, and two memories above a Compute: the inner one has 400 bits."""

from nodes import arch_text, mac, memory

ARCH = arch_text(
    memory("Outer", "inf", "keep: ~Intermediates, may_keep: All", (10, 4)),
    memory("Inner", 400, "may_keep: All", (1, 8)),
    mac(),
)

WORKLOAD = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 8, A: 4, B: 4, C: 8}
  einsums:
  - "T[m, b] = S[m, a] * V[a, b]"
  - "U[m, c] = T[m, b] * W[b, c]"
"""
