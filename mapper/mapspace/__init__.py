"""The mapspace of one Einsum: its points, their neighbours, their number."""
