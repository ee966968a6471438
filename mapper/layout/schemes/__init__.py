"""Build the named layouts of public tools in the layout algebra (theory/layouts.md §7)."""
