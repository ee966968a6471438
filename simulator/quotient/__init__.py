"""Exact cycles of a large grid from a small one of the same pattern, with a proof."""
