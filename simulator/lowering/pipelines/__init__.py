"""Several Einsums of a grid as one program: its plan, codes, colors and lower bound."""
