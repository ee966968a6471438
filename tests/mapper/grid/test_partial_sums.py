"""Groups of elements that add up, the way of their sums, and where results leave."""

import pytest
from grid_mappings import END, HOST, WHOLE, WORK, read

from tilewright.mapper.grid.partial_sums import exit_hops, partial_sums, sum_hops, sums_received
from tilewright.mapper.mapping.mapping import Spatial, Storage
from tilewright.mapper.workload.errors import InfeasibleMapping


def sums_of(*shares: Spatial, scheme: str = ""):  # type: ignore[no-untyped-def]
    stored = [Storage(("A",), "SRAM"), Storage(("Z",), "SRAM", reduction=scheme)]
    found = read([HOST, *shares, WHOLE, *stored, *WORK, END])
    return found, partial_sums(found)


def test_sums_along_rows_leave_to_the_east() -> None:
    found, sums = sums_of(Spatial("k", 3, "X", "Grid"), Spatial("n", 3, "Y", "Grid"))
    assert (sums.exit, sums.group_columns, sums.group_rows) == ("east", 4, 1)
    assert sums_received(found, sums).tolist() == [[0, 1, 1, 1]] * 2
    assert sum_hops(found, sums) == 6


def test_sums_of_the_whole_grid_go_down_the_last_column() -> None:
    found, sums = sums_of(Spatial("k", 4, "X", "Grid"), Spatial("k", 2, "Y", "Grid"))
    assert sums.exit == "south"
    assert list(sums.phases[-1].lines) == [2]
    assert sums_received(found, sums).tolist() == [[0, 1, 1], [0, 1, 2]]


def test_nothing_to_add_is_gathered_down_the_columns() -> None:
    found, sums = sums_of(Spatial("m", 2, "X", "Grid"), Spatial("n", 3, "Y", "Grid"))
    assert (sums.exit, sums.phases) == ("gather", ())
    assert exit_hops(found, sums) == 4  # the upper row's words cross one link in each column


def test_groups_inside_a_row_are_gathered_from_their_last_elements() -> None:
    found, sums = sums_of(
        Spatial("m", 4, "X", "Grid"), Spatial("k", 6, "X", "Grid"), Spatial("n", 3, "Y", "Grid")
    )
    assert list(sums.head_columns(found.columns)) == [1, 3]
    assert sums.exit == "gather"
    assert sums_received(found, sums).tolist() == [[0, 1, 0, 1]] * 2


@pytest.mark.parametrize(("scheme", "hops"), [("chain", 6), ("tree", 8), ("two_phase(2)", 8)])
def test_the_scheme_of_the_storage_is_taken(scheme: str, hops: int) -> None:
    found, sums = sums_of(Spatial("k", 3, "X", "Grid"), Spatial("n", 3, "Y", "Grid"), scheme=scheme)
    assert sum_hops(found, sums) == hops


def test_only_a_result_that_stays_is_shared() -> None:
    with pytest.raises(InfeasibleMapping, match=r"all_reduce\(chain\) shares Z") as refused:
        sums_of(Spatial("k", 3, "X", "Grid"), scheme="all_reduce(chain)")
    assert refused.value.instead.startswith("chain, or no Storage of Z")


BOTH = Spatial("k", 4, "X", "Grid"), Spatial("k", 2, "Y", "Grid")
"""Two rows of three columns add up."""


def test_columns_before_rows() -> None:
    found, sums = sums_of(*BOTH, scheme="y_first(chain)")
    assert sums_received(found, sums).tolist() == [[0, 0, 0], [1, 2, 2]]
    assert [(phase.axis, list(phase.lines)) for phase in sums.phases] == [
        ("Y", [0, 1, 2]),
        ("X", [1]),
    ]
    assert sum_hops(found, sums) == 5
    assert sums.exit == "south"


def test_a_snake_crosses_one_link_fewer_than_there_are_elements() -> None:
    found, sums = sums_of(*BOTH, scheme="snake")
    assert sums_received(found, sums).tolist() == [[1, 1, 0], [1, 1, 1]]
    assert (sum_hops(found, sums), sums.phases, sums.first) == (5, (), (0, 2))


@pytest.mark.parametrize("scheme", ["snake", "y_first(chain)"])
def test_groups_along_one_axis_have_no_order_of_axes(scheme: str) -> None:
    one = Spatial("k", 3, "X", "Grid"), Spatial("n", 3, "Y", "Grid")
    assert sums_of(*one, scheme=scheme)[1] == sums_of(*one, scheme="chain")[1]
