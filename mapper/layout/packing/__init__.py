"""Addresses for tile buffers of one memory: lifetimes, alignment, banks, depth (layouts.md §11)."""
