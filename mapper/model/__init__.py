"""The analytical model: exact counts of a mapping in closed form (accelforge.md §2)."""
