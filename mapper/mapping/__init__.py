"""Mappings: the tree of decisions, its file, its text, and its score."""
