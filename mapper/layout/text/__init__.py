"""Text forms of layouts, parsed and printed."""
