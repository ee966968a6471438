"""Flatten the tree of an architecture: one path of evaluated components per Compute."""
