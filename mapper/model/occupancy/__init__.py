"""Bits that tiles occupy, and whether those that are live together fit (theory/model.md §4)."""
