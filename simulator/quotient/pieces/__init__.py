"""Exact cycles of a large grid from pieces of it, each simulated with the words that enter it."""
