"""Lower bounds of what any mapping still adds to a label on the way up."""
