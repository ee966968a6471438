"""Machines as data: grids of units, memories, number formats, and rates, each with its source."""
