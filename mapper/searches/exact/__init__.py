"""The dynamic program over tile shapes: label kernels, bounds, iterative deepening."""
