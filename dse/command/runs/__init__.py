"""Commands that ask runs."""
