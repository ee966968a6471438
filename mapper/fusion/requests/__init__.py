"""Requests that stand for the one asked: one lane of the outermost memory, equal sizes."""
