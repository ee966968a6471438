"""A program as units, with the channels between them."""
