"""Kernels of the cycle-stepped reference engine; use `tilewright.simulator.run.machine`."""
