"""The times of all units: least solutions, as affine segments."""
