"""Join the pmappings of all Einsums by compatibility, below bounds that are raised."""
