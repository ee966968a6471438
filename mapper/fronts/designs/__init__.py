"""Pareto sets that answer for many designs: sizes, fanouts and energies that differ."""
