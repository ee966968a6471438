"""Files of a run: written whole, read with care, complete without the places they came from."""
