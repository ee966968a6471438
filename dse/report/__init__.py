"""Reports and pages: one HTML file each."""
