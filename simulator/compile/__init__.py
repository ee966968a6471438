"""Compile a program for a machine: its codes and its fabric to the rows of one store."""
