"""What changes of layout cost in time (theory/layouts.md §12)."""
