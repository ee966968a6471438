"""The study file and its design space, checked before the first trial."""
