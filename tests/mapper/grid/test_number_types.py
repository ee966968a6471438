"""Which number types an Einsum may have on a grid, and what others say."""

import pytest
from grid_mappings import typed_workload

from tilewright.mapper.grid.number_types import NumberTypes, number_types
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_print import dump_workload


def test_types_come_from_the_widths_and_the_set_of_integers() -> None:
    for inputs, output in (("f32", "f32"), ("f16", "f32"), ("i16", "i16"), ("i32", "i32")):
        workload = typed_workload("matrix product", inputs, output)
        numbers = NumberTypes({"A": inputs, "B": inputs}, output)
        assert number_types(workload.einsums[0]) == numbers
        assert load_workload(dump_workload(workload)) == workload


@pytest.mark.parametrize(
    ("inputs", "output", "instead"),
    [("f32", "f16", "an Einsum that copies it to f16"), ("i16", "i32", "one type of integers")],
)
def test_others_are_refused_with_what_there_is(inputs: str, output: str, instead: str) -> None:
    with pytest.raises(InfeasibleMapping, match=f"reads {inputs} and writes {output}") as error:
        number_types(typed_workload("matrix product", inputs, output).einsums[0])
    assert instead in str(error.value)


def test_elements_compute_in_f32_if_any_tensor_has_it() -> None:
    for inputs, output, computed in (
        ("f16", "f32", "f32"), ("f32", "f16", "f32"), ("f16", "f16", "f16"), ("i16", "i16", "i16")
    ):  # fmt: skip
        numbers = number_types(typed_workload("rectifier", inputs, output).einsums[0])
        assert numbers.computed == computed
        assert numbers.is_uniform == (inputs == output)
    half, single = {"A": "f16", "B": "f16"}, {"A": "f16", "B": "f32"}
    assert NumberTypes(half, "f32").widens
    assert not NumberTypes(single, "f32").widens
    assert not NumberTypes(single, "f32").is_uniform
