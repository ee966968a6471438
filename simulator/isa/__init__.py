"""The instruction set: operations, data-structure descriptors, wavelets, operands."""
