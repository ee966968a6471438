"""Builders of programs."""
