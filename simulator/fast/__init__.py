"""The fast engine: timestamps of whole operations, with a certificate; see `fast_machine.py`."""
