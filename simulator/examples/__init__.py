"""Example programs with known costs: collectives, matrix-vector products."""
