"""Paths through the options of all Einsums of a workload, and their search."""
