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
        assert number_types(workload.einsums[0]) == NumberTypes(inputs, output)
        assert load_workload(dump_workload(workload)) == workload


@pytest.mark.parametrize(("inputs", "output"), [("f32", "f16"), ("i16", "i32")])
def test_others_are_refused_with_what_there_is(inputs: str, output: str) -> None:
    with pytest.raises(InfeasibleMapping, match=f"reads {inputs} and writes {output}") as error:
        number_types(typed_workload("matrix product", inputs, output).einsums[0])
    assert "f16 (16 bits) with a result of f32" in str(error.value)
