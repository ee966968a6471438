"""What each element of a code does, in order, without times."""
