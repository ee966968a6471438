"""What fused Einsums have in common: exchanged tensors, memories, rank names, tile sizes."""
