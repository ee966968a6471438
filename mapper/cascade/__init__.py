"""Search mappings of whole workloads in which Einsums share loops and keep tensors on chip."""

from tilewright.mapper.cascade.api import fused_search

__all__ = ["fused_search"]
