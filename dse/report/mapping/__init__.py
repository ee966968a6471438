"""The page on a mapping: its machine, roofline, charts of costs, its front."""
