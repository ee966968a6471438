"""Codes that differ in names and numbers only, solved once for all."""
