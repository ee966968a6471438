"""Make the pmappings of one Einsum: fused loops above exchanged tensors, the best below them."""
