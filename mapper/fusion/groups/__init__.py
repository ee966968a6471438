"""Fusion groups: neighbouring Einsums that tensors on chip link, and how to choose them fast."""
