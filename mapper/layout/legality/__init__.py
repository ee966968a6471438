"""What a machine does not allow: every broken rule of a layout or placement, with its numbers."""
