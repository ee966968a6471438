"""Make numba's compilation of this project's kernels faster by leaving out needless work."""
