"""The page on a mapping: its machine, its roofline, charts of its costs, and its front."""
