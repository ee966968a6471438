"""Search mappings of whole workloads in which Einsums share loops and keep tensors on chip."""

from tilewright.mapper.cascade.api import fused_search
from tilewright.mapper.cascade.result import CascadeResult

__all__ = ["CascadeResult", "fused_search"]
