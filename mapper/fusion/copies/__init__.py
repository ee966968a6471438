"""Pmappings of copy Einsums."""
