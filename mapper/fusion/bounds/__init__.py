"""Bound what Einsums cost, alone and with others, and raise limits from there."""
