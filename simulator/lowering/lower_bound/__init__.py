"""Lower bounds of the cycles of a plan (theory/grid.md §6)."""
