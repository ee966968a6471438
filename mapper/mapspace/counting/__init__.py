"""Count the mappings of a mapspace: in closed form, by tile shape, or a lower bound."""
