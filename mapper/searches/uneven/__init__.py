"""Exact search over mapspaces whose rank variables may have one uneven loop."""
