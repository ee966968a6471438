"""The study loop and the run directory."""
