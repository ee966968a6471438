"""Values, counts and states of a run whose times are known."""
