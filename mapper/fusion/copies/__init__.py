"""Make the pmappings of copy Einsums, which move a tensor and compute nothing."""
