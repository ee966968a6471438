"""From a mapping to its loops in space and time, and the rules that it must keep."""
