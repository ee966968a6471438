"""Explain: which constraints conflict, what one costs, how many mappings each one excludes."""
