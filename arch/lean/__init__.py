"""What numba is spared where it compiles the kernels of this project."""
