"""Mappings on a grid executed: run on numbers, compared with numpy, counted."""
