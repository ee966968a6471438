"""The architecture file: its models, checks, the frozen tree, and the tree printed back."""
