"""Schemes of reductions over elements: their texts, and trees made for a machine."""
