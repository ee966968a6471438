"""An Einsum on one path through a mapping: its tables, loops and nests (theory/model.md §2)."""
