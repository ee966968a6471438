"""Repetitions in a run without values: what they are, and how they are skipped."""
