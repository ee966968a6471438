"""Lower bounds of mappings on a grid by closed formulas: of families, and of divisions of work."""
