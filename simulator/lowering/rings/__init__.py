"""Programs of elements whose tiles go round rings."""
