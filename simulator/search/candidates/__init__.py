"""The candidates of a search on a grid: their bounds, their runs, the order of both."""
