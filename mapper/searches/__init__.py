"""The search of the best mapping: requests, methods, results."""
