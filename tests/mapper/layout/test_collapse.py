"""Joining dimensions: the join rule of layouts.md §1, against public layout cases."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Collapse, Sharding


@pytest.mark.parametrize(
    ("shape", "intervals", "groups"),
    [
        ((2, 3, 64, 128), ((0, -1),), ((0, 1, 2), (3,))),
        ((2, 3, 64, 128), ((1, -1),), ((0,), (1, 2), (3,))),
        ((2, 3, 64, 128), ((0, 2),), ((0, 1), (2,), (3,))),
        # The document's own example that its builder cannot emit (layouts.md §5, coll-d).
        ((5, 3, 2, 2, 7, 32, 32), ((0, 3), (-3, -1)), ((0, 1, 2), (3,), (4, 5), (6,))),
        ((128,), ((0, -1),), ((0,),)),
    ],
)
def test_groups_of_the_documented_examples(
    shape: tuple[int, ...],
    intervals: tuple[tuple[int, int], ...],
    groups: tuple[tuple[int, ...], ...],
) -> None:
    assert Collapse.of(shape, intervals).groups == groups


def test_fewer_groups_than_grid_dimensions_are_padded_in_front() -> None:
    collapse = Collapse.of((128,), grid_rank=3)
    assert collapse.extents == (1, 1, 128)
    assert Sharding(collapse, (1, 2, 4)).shard_shape == (1, 1, 32)
    # The second core of the middle dimension owns padding only (layouts.md §2).
    assert Sharding(collapse, (1, 2, 4)).empty_cells() == tuple((0, 1, c) for c in range(4))


def test_more_groups_than_grid_dimensions_are_refused() -> None:
    with pytest.raises(SpecError, match="3 groups of dimensions do not fit a grid of 2"):
        Collapse.of((8, 96, 32), (), grid_rank=2)


def test_overlapping_intervals_are_refused() -> None:
    with pytest.raises(SpecError, match="overlap"):
        Collapse.of((2, 3, 4), ((0, 2), (1, 3)))


shapes = st.lists(st.integers(1, 5), min_size=1, max_size=5).map(tuple)


@given(shapes, st.data())
def test_coordinates_and_index_are_inverse(shape: tuple[int, ...], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(shape)))
    end = data.draw(st.integers(begin, len(shape)))
    collapse = Collapse.of(shape, ((begin, end),))
    index = tuple(data.draw(st.integers(0, extent - 1)) for extent in shape)
    assert collapse.index(collapse.coordinates(index)) == index


def test_public_layouts_that_obey_the_join_rule(shared_data: Path) -> None:
    """Shard shapes of tt-mlir's own examples (tt_layout_vectors.json, era 1)."""
    cases = json.loads((shared_data / "layouts" / "tt_layout_vectors.json").read_text())
    checked = 0
    for group in ("seed_examples", "python_test", "device_doc"):
        for case in cases["era1_linear_map"][group]:
            if "linear_coeffs" not in case or not _joins(case):
                continue
            collapse = Collapse.of(
                case["logical_shape"],
                tuple(tuple(pair) for pair in case["collapse_intervals"]),
                len(case["grid"]),
            )
            sharding = Sharding(collapse, tuple(case["grid"]), tuple(case["tile"] or ()))
            assert list(collapse.extents) == case["physical_extent"], case["id"]
            assert list(sharding.shard_shape) == case["scalar_shard"], case["id"]
            assert list(sharding.shard_tiles) == case["memref"], case["id"]
            checked += 1
    assert checked >= 20


def _joins(case: dict[str, list[dict[str, int]]]) -> bool:
    """Tell whether the case's linear map is dense and uses each dimension once."""
    used = [dim for row in case["linear_coeffs"] for dim in row]
    dense = all(min(row.values(), default=1) == 1 for row in case["linear_coeffs"])
    bumped = case.get("id", "").startswith("seed-13")
    return len(used) == len(set(used)) and dense and not bumped
