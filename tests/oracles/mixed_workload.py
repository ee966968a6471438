"""A workload that uses most of what a workload file can say."""

MIXED = """
renames:
  einsums:
  - name: default
    tensor_accesses: {left: Inputs & A, all_out: Outputs}
    rank_variables: {window: r}
workload:
  rank_sizes: {H: 12, M: 4, P: 5, R: 3}
  iteration_space_shape: {m: 2 <= m < 4}
  bits_per_value: {A: 8, B: 4.5, Other: 16}
  persistent_tensors: B
  n_instances: 2
  einsums:
  - "Z[m, p] = A[m, H: 2*p + r - 0] * B[r]"
  - {einsum: "S[m, p] = Z[m, p] + C[m, P: p]", n_instances: 3, name: Add}
  - name: Long
    tensor_accesses:
    - {name: S, projection: {M: m, P: p}}
    - {name: T, projection: [p, m], output: true, bits_per_value: 1}
    - {name: U, projection: {M: m, X: 3}, output: true}
  - {einsum: "V[m, p] = S[m, p]", is_copy_operation: true}
"""
