"""Several Einsums of a grid as one program: what a mapping says of it."""
