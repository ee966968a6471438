"""The search for mappings on a grid, with the machine in the loop."""
