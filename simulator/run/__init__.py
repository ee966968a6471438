"""The machine: a compiled program run on memory, and its results."""
