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
    ("inputs", "output", "form"),
    [("f32", "f16", "matrix product"), ("i32", "i16", "largest of rows")],
)
def test_others_are_refused_with_what_there_is(inputs: str, output: str, form: str) -> None:
    with pytest.raises(InfeasibleMapping, match=f"reads {inputs} and writes {output}") as error:
        number_types(typed_workload(form, inputs, output).einsums[0])
    assert f"a result of {inputs} (32 bits), and an Einsum that copies it to {output}" in str(
        error.value
    )


def test_floats_and_integers_do_not_meet() -> None:
    text = (
        "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 32}\n  integers: B\n"
        '  einsums: ["Z[m] = A[m] * B[m]"]\n'
    )
    with pytest.raises(InfeasibleMapping, match="reads f32 and i32 and writes f32") as error:
        number_types(load_workload(text).einsums[0])
    assert "integers for all of its tensors, or for none" in str(error.value)


def test_elements_compute_in_32_bits_if_any_tensor_has_them() -> None:
    for inputs, output, computed in (
        ("f16", "f32", "f32"), ("f32", "f16", "f32"), ("f16", "f16", "f16"), ("i16", "i16", "i16"),
        ("i16", "i32", "i32"), ("i32", "i16", "i32"),
    ):  # fmt: skip
        numbers = number_types(typed_workload("rectifier", inputs, output).einsums[0])
        assert numbers.computed == computed
        assert numbers.is_uniform == (inputs == output)
    half, single = {"A": "f16", "B": "f16"}, {"A": "f16", "B": "f32"}
    assert NumberTypes(half, "f32").widens
    assert not NumberTypes(single, "f32").widens
    assert not NumberTypes(single, "f32").is_uniform
