"""Trials of a study as they come out of an evaluation."""
