"""Either text form is told by what stands in it."""

from tilewright.mapper.layout.text import aligned_layout, metal_layout
from tilewright.mapper.layout.text.tensor_type import parse_tensor_type


def test_each_form_is_read_by_its_reader() -> None:
    aligned = parse_tensor_type(aligned_layout.EXAMPLE)
    assert isinstance(aligned, aligned_layout.AlignedTensor)
    linear = parse_tensor_type(metal_layout.EXAMPLE)
    assert isinstance(linear, metal_layout.MetalTensor)
