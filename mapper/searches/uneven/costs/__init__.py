"""Counts and bounds of templates whose loops may leave a smaller last tile."""
