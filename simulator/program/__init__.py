"""Programs of a grid as frozen records: codes, instructions, routes."""
