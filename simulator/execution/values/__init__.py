"""The values of an Einsum by numpy, as a reference for what the machine computed."""
