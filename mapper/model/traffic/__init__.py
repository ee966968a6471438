"""Values that move between the holders of a tensor, and their hops (theory/model.md §3, §7)."""
