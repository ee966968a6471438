"""Choices of a kernel are checked by the types of their fields."""

import pytest

from tilewright.dse.models.grid_matmul import GridMatmulChoices
from tilewright.dse.study.kernel_choices import choices_of
from tilewright.mapper.workload.errors import InfeasibleMapping


def test_values_by_name_and_defaults() -> None:
    chosen = choices_of(GridMatmulChoices, {"rows": 8, "storage": "dram"})
    assert (chosen.rows, chosen.columns, chosen.storage) == (8, 1, "dram")


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"row": 8}, "unknown mapping choice 'row'"),
        ({"rows": 0}, "rows must be a whole number"),
        ({"rows": "8"}, "rows must be a whole number"),
        ({"rows": True}, "rows must be a whole number"),
        ({"storage": "l3"}, "unknown storage"),
    ],
)
def test_wrong_choices_are_refused(choices: dict[str, str | int], words: str) -> None:
    with pytest.raises(InfeasibleMapping, match=words):
        choices_of(GridMatmulChoices, choices)
