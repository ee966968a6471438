"""The score of a given mapping, with what is proven of it and which rules it breaks."""
