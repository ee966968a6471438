"""What elements of a grid send to each other between Einsums: halos and other parts of a tensor."""
