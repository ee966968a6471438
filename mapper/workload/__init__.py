"""Workloads: Einsums, their notation and file, and the names that an architecture sees."""
