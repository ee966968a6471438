"""Pareto sets of mappings on a grid: of one Einsum, and of a whole workload."""
