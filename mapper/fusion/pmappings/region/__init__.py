"""The region of an inner program: the holders down to the lowest tensor on chip, and its loops."""
