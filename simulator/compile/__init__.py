"""Programs compiled to the engine's tables: one store of rows."""
