"""Models that score a design, and the workers they run in."""
