"""Questions about layouts: padded regions, transfers between two, a page of text, a picture."""
