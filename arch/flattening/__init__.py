"""From the tree to one flattened architecture per Compute."""
