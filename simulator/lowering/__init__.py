"""From a candidate to a program, in printable passes."""
