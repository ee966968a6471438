"""Programs that move a tensor between elements from one Einsum to the next, and their execution."""
