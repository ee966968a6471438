"""Say why: which constraints conflict, what a constraint costs, what a mapspace loses to each."""
