"""An upper bound of the cycles of plans whose tiles come during the work (theory/grid.md §12)."""
