"""Values of operations: read, combined, written."""
