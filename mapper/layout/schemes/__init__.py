"""Named layouts of public tools, as constructors of the layout algebra (theory/layouts.md §7)."""
