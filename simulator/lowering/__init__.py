"""Lower a mapping on a grid to a program of the machine: a plan, then codes, routes and ports."""
