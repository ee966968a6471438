"""Copy Einsums: searched by what they move, since they compute nothing."""
