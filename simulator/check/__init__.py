"""Checks of programs, with and without a machine profile."""
