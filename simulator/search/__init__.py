"""Search for mappings on a grid; candidates are simulated on the machine."""
