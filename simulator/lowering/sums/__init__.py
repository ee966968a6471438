"""How elements add up partial sums that come from other elements."""
