"""Files of a run: written whole, checked when read, and complete without the files of the study."""
