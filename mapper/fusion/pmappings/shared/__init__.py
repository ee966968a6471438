"""What Einsums that share loops have in common: spatial loops, and Tolls that tensors pass."""
