"""Evaluate designs: the models that score them, and the worker processes in which they run."""
