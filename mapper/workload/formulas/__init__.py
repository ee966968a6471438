"""What an operation of an Einsum computes: formulas, and their values with numpy."""
