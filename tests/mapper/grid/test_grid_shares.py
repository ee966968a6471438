"""Divisions of an iteration space over a grid: compared with all divisions, one by one."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import pytest
from grid_mappings import FORMS, einsum_workload, grid_arch, workload_text

from tilewright.arch.components.components import Comparison
from tilewright.arch.files.source import load_document
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_shares import (
    NEAR,
    Share,
    least_work_on_fewer,
    least_work_shares,
    local_sizes,
    near_least_shares,
    padded_sizes,
    share_counts,
)
from tilewright.mapper.grid.padding import may_pad
from tilewright.mapper.workload.workload_loading import load_workload


def anything(axis: str, names: frozenset[str]) -> bool:
    return True


def shares_of(form: str, columns: int, rows: int) -> list[tuple[Share, ...]]:
    grid = grid_of(grid_arch(form, 32, columns, rows))
    return least_work_shares(grid, einsum_workload(form).einsums[0], anything)


@pytest.mark.parametrize("form", ["matrix product", "largest of rows", "average pooling"])
@pytest.mark.parametrize(("columns", "rows"), [(4, 4), (5, 7), (3, 1)])
def test_no_division_leaves_an_element_fewer_points(form: str, columns: int, rows: int) -> None:
    """Of all counts of one variable along each axis, tried one by one."""
    einsum = einsum_workload(form).einsums[0]
    least = min(
        prod(local_sizes(einsum, (Share("X", x, a), Share("Y", y, b))).values())
        for x, y in product(einsum.bounds, repeat=2)
        for a, b in product(range(1, columns + 1), range(1, rows + 1))
        if (may_pad(einsum, x) and may_pad(einsum, y))
        or padded_sizes(einsum, (Share("X", x, a), Share("Y", y, b))) == dict(einsum.bounds)
    )
    works = {
        prod(local_sizes(einsum, shares).values()) for shares in shares_of(form, columns, rows)
    }
    assert len(works) == 1
    assert works.pop() <= least


@pytest.mark.parametrize("form", FORMS)
def test_shares_fit_the_grid_and_pad_only_what_may_be_padded(form: str) -> None:
    einsum = einsum_workload(form).einsums[0]
    for shares in shares_of(form, 5, 3):
        assert prod(s.count for s in shares if s.axis == "X") <= 5
        assert prod(s.count for s in shares if s.axis == "Y") <= 3
        for name, size in padded_sizes(einsum, shares).items():
            assert size == einsum.bounds[name] or may_pad(einsum, name)


def test_equally_long_shares_stand_once() -> None:
    """12 values: 4, 3 and 2 in a share; 5 shares of 3 would leave one empty."""
    einsum = einsum_workload("matrix product").einsums[0]
    assert share_counts(einsum, "k", 12) == [2, 3, 4, 6, 12]
    assert share_counts(einsum, "m", 5) == [2, 3, 4]
    assert share_counts(einsum_workload("largest of rows").einsums[0], "k", 5) == [2, 3, 4]


@pytest.mark.parametrize(("size", "elements"), [(131, 16), (32768, 720), (64, 8), (12, 5)])
def test_one_variable_along_each_axis_may_leave_some_more_points(size: int, elements: int) -> None:
    """Compared with all counts, one by one."""
    grid = grid_of(grid_arch("matrix times vector", 32, elements, elements))
    text = (
        workload_text("matrix times vector")
        .replace("< 8", f"< {size}")
        .replace("< 12", f"< {size}")
    )
    einsum = load_workload(load_document("sized.yaml", text=text)).einsums[0]
    least = least_work_shares(grid, einsum, anything)
    near = near_least_shares(grid, einsum, anything, least)
    fewest = prod(local_sizes(einsum, least[0]).values())
    counts = share_counts(einsum, "m", elements)
    points = {(a, b): -(-size // a) * -(-size // b) for a in counts for b in counts}
    chosen = [pair for pair, number in points.items() if number < NEAR * fewest]
    expected = {
        (Share("X", x, a), Share("Y", y, b)) for a, b in chosen for x, y in (("m", "k"), ("k", "m"))
    }
    assert set(near) == expected - set(least)
    assert len(near) == len(set(near))


@pytest.mark.parametrize(
    ("rules", "obeys"),
    [
        (
            {"loop_bounds": (Comparison(frozenset("mk"), "product<=", 2),)},
            lambda lanes: lanes["m"] * lanes["k"] <= 2,
        ),
        ({"reuse": frozenset("A")}, lambda lanes: lanes["m"] == lanes["k"] == 1),
        ({"min_usage": 1.0}, lambda lanes: prod(lanes.values()) == 6),
        ({"min_usage": 0.6}, lambda lanes: prod(lanes.values()) >= 4),
        ({"usage_scale": 2.0}, lambda lanes: prod(lanes.values()) <= 3),
        ({"min_usage": 1.0, "reuse": frozenset("AB")}, lambda lanes: set(lanes.values()) == {1}),
    ],
)
def test_shares_obey_the_rules_of_a_dimension(
    rules: dict[str, Any], obeys: Callable[[dict[str, int]], bool]
) -> None:
    """Of the shares along a line of six elements those that obey, with the fewest points."""
    einsum = einsum_workload("matrix product").einsums[0]
    line = grid_of(grid_arch("matrix product", 32, 6, 1))
    ruled = replace(line, spatial=(replace(line.spatial[0], **rules), *line.spatial[1:]))

    def lanes(shares: tuple[Share, ...]) -> dict[str, int]:
        return dict.fromkeys(einsum.bounds, 1) | {s.variable: s.count for s in shares}

    def points(shares: tuple[Share, ...]) -> int:
        return prod(local_sizes(einsum, shares).values())

    found = least_work_shares(ruled, einsum, anything)
    assert found
    assert all(obeys(lanes(shares)) for shares in found)
    single = [(Share("X", name, n),) for name in einsum.bounds for n in range(2, 7)]
    others = [shares for shares in [(), *single] if obeys(lanes(shares))]
    assert points(found[0]) <= min(map(points, others), default=points(found[0]))


def test_parts_of_a_grid_have_half_the_elements_again_and_again() -> None:
    (einsum,) = einsum_workload("outer product").einsums
    grid = grid_of(grid_arch("outer product", 32, 4, 2))
    divisions = list(least_work_on_fewer(grid, einsum, anything))
    elements = [prod(share.count for share in shares) for shares in divisions]
    assert list(dict.fromkeys(elements)) == [4, 2, 1]
    assert divisions[-1] == ()
    assert all(share.count <= 2 for shares in divisions for share in shares)
    used = tuple(replace(dim, min_usage=0.5) for dim in grid.spatial)
    assert not list(least_work_on_fewer(replace(grid, spatial=used), einsum, anything))
