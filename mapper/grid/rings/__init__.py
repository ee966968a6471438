"""Tiles that go round rings of elements."""
