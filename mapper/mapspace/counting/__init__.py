"""The size of a mapspace: in closed form, by state of the lattice, or as a lower bound."""
