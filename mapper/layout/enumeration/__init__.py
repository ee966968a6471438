"""Enumerate distinct shardings of a tensor and layouts of a mapspace (theory/layouts.md §10)."""
