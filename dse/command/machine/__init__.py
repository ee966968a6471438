"""Commands that execute: mappings on the machine of a grid, texts of programs."""
