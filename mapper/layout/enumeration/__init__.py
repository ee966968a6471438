"""Distinct shardings of a tensor, and the layouts of a mapspace (theory/layouts.md §10, §15)."""
