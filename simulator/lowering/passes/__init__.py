"""The steps from a mapping to a program, each with its text and its check."""
