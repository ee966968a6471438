"""All distinct shardings of a tensor over the units of a machine (theory/layouts.md §10)."""
