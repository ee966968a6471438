"""The fast engine: timestamps of whole operations, with a certificate; see `run.py`."""
