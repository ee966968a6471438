"""Predict the time of matrix products and of changes of layout (theory/layouts.md §12 to §14)."""
