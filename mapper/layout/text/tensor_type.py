"""Read a tensor type with a layout in either text form (layouts.md §8)."""

from __future__ import annotations

from tilewright.mapper.layout.text.aligned_layout import AlignedTensor, parse_aligned_tensor
from tilewright.mapper.layout.text.metal_layout import MetalTensor, parse_metal_tensor


def parse_tensor_type(text: str) -> MetalTensor | AlignedTensor:
    """Return the tensor of a text: the aligned form has `logical_shape`, the linear map has a map.

    Raises SpecError like `parse_metal_tensor` and `parse_aligned_tensor`.
    """
    return parse_aligned_tensor(text) if "logical_shape" in text else parse_metal_tensor(text)
