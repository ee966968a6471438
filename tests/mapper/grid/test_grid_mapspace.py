"""The mapspace of a search: shares, families, and constraints."""

from dataclasses import replace
from math import prod

import pytest
from grid_mappings import FORMS, einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping


def space(form: str, columns: int = 4, rows: int = 4, **constraints: str | int) -> GridMapspace:
    grid = grid_of(grid_arch(form, 32, columns, rows))
    return GridMapspace(grid, einsum_workload(form).einsums[0], GridConstraints.of(constraints))


@pytest.mark.parametrize("form", FORMS)
def test_every_choice_is_a_mapping_of_the_grid(form: str) -> None:
    flat, mapspace = grid_arch(form, 32, 4, 4), space(form)
    families = list(mapspace.families())
    assert families
    for family in families[:: max(1, len(families) // 40)]:
        for choice in mapspace.members(family):
            read = space_time(flat, mapspace.einsum, mapspace.mapping_of(choice))
            assert read.columns * read.rows == prod(s.count for s in family.shares)


@pytest.mark.parametrize("form", FORMS)
def test_nested_loops_in_time_are_mappings_of_the_grid(form: str) -> None:
    flat, mapspace = grid_arch(form, 32, 2, 2), replace(space(form, 2, 2), nests=True)
    families, output = list(mapspace.families()), mapspace.einsum.outputs[0]
    for family in families[:: max(1, len(families) // 40)]:
        outer, inner = family.loops
        assert outer.variable in output.rank_variables
        assert outer.variable != inner.variable
        for choice in mapspace.members(family)[:2]:
            read = space_time(flat, mapspace.einsum, mapspace.mapping_of(choice))
            above = [(loop.variable, loop.tile) for loop in read.time[: read.kernel]]
            assert above == [(loop.variable, loop.size) for loop in family.loops]


def test_a_nest_holds_each_tensor_below_the_loops_that_change_its_tile() -> None:
    mapspace = replace(space("matrix product", 1, 1), nests=True)
    flat = grid_arch("matrix product", 32, 1, 1)
    streamed = (family for family in mapspace.families() if not family.resident)
    family = next(f for f in streamed if [loop.variable for loop in f.loops] == ["m", "k"])
    choice = mapspace.members(family)[0]
    read = space_time(flat, mapspace.einsum, mapspace.mapping_of(choice))
    assert {tensor.name: tensor.depth for tensor in read.tensors} == {"A": 2, "B": 2, "Z": 1}


def test_constraints_narrow_the_mapspace() -> None:
    wide = list(space("matrix product").families())
    narrow = list(space("matrix product", x="k", y="n", buffers=1, tile="none").families())
    assert 0 < len(narrow) < len(wide)
    for family in narrow:
        assert {(s.axis, s.variable) for s in family.shares} == {("X", "k"), ("Y", "n")}
        assert family.tile is None


def test_two_variables_along_an_axis() -> None:
    families = list(space("matrix product", x="m+k").families())
    assert {s.variable for s in families[0].shares if s.axis == "X"} == {"m", "k"}


@pytest.mark.parametrize(
    ("constraints", "reason"),
    [
        ({"shard_x": "k"}, "unknown constraint"),
        ({"reduction": "ring"}, "no reduction"),
        ({"buffers": 3}, "buffers cannot be 3"),
        ({"weights": "somewhere"}, "weights cannot be"),
        ({"x": "q"}, "x cannot be 'q'"),
        ({"x": "none", "y": "none", "tile": "q"}, "tile cannot be"),
    ],
)
def test_wrong_constraints_say_what_is_allowed(
    constraints: dict[str, str | int], reason: str
) -> None:
    with pytest.raises(InfeasibleMapping, match=reason) as raised:
        list(space("matrix product", 4, 4, **constraints).families())
    assert raised.value.instead


def test_shares_that_nothing_allows_say_so() -> None:
    with pytest.raises(InfeasibleMapping, match="no shares"):
        space("matrix times vector", 1, 1, x="k").shares()
