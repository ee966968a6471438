"""Parse what an operation of an Einsum computes, and compute the values of tensors with numpy."""
