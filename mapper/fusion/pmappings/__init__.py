"""Pmappings of one Einsum: loops above its exchanged tensors, and the best mapping below them."""
