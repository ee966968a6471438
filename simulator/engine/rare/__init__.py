"""What few programs need: kernels that are called by address."""
