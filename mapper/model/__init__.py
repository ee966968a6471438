"""The analytical model: exact counts of a mapping in closed form (docs/theory/model.md)."""
