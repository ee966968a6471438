"""Candidates for a grid of processing elements: a mapping and the layout of each tensor."""
