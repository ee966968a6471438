"""Search mappings of whole workloads in which Einsums share loops and keep tensors on chip."""
