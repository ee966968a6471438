"""Aligned layouts: intervals, alignments, planes of vectors."""

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Tiling
from tilewright.mapper.layout.schemes.dim_alignments import (
    aligned_collapse,
    aligned_layout,
    grid_aware_alignments,
    normalized_intervals,
    tile_alignments,
)


def test_trailing_dimensions_stay_alone() -> None:
    assert normalized_intervals(4, [(0, -1)]) == ((0, 3), (3, 4))
    assert normalized_intervals(3, []) == ((0, 1), (1, 2), (2, 3))
    with pytest.raises(SpecError, match="overlap"):
        normalized_intervals(4, [(0, 2), (1, 3)])


def test_alignments_of_the_last_two_groups() -> None:
    """layouts.md §7.2."""
    assert tile_alignments(4, [(0, -1)]) == (1, 1, 32, 32)
    assert tile_alignments(1, [(0, 1)]) == (32,)
    assert grid_aware_alignments((9, 43, 7), [(0, 2)], (8, 8)) == (256, 32, 32)
    assert aligned_collapse((9, 43, 7), (256, 32, 32), [(0, 2)]).extents == (768, 32)


def test_a_vector_has_a_plane_of_tile_rows() -> None:
    collapse = aligned_collapse((1000,), (256,), [(0, 1)])
    assert collapse.extents == (32, 1024)
    assert collapse.holes == 32 * 1024 - 1000
    layout = aligned_layout((1000,), (1, 32), [(0, 1)], (256,), Tiling((32, 32)))
    assert layout.valid((0, 31)) == 1000 - 31 * 32
    assert layout.phantom_cells == ()
    scalar = aligned_collapse((), (), [])
    assert scalar.extents == (32, 32)
    assert scalar.index((0, 0)) == ()
    assert scalar.index((0, 1)) is None


def test_physical_shapes_are_whole_tiles() -> None:
    with pytest.raises(SpecError, match="no multiple of the tile"):
        aligned_layout((4, 8), (2, 4), [(0, 1)], (2, 4), Tiling((32, 32)))
