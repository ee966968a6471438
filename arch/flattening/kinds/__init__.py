"""Einsums that an architecture cannot tell apart but by names."""
