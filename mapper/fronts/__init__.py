"""Pareto sets and objective expressions: every mapping that no other one beats."""
