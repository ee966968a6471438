"""Two matrix products in a row, and two memories above a Compute: the inner one has 400 bits."""

ARCH = """
arch:
  nodes:
  - !Memory
    name: Outer
    size: inf
    area: 0
    leak_power: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 10, throughput: 4}, {name: write, energy: 10, throughput: 4}]
  - !Memory
    name: Inner
    size: 400
    area: 0
    leak_power: 0
    tensors: {may_keep: All}
    actions: [{name: read, energy: 1, throughput: 8}, {name: write, energy: 1, throughput: 8}]
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""

WORKLOAD = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 8, A: 4, B: 4, C: 8}
  einsums:
  - "T[m, b] = S[m, a] * V[a, b]"
  - "U[m, c] = T[m, b] * W[b, c]"
"""
