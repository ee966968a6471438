"""The order of the loops on a tile: which orders take the fewest cycles of an element."""
