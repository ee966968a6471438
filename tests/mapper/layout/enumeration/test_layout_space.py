"""Shardings and placements of a mapspace: distinct, legal, and complete against other roads."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import prod

import pytest
from array_cases import array_space_of
from buffer_spaces import ARCH, workload
from hypothesis import given
from hypothesis import strategies as st
from network_cases import network_space_of

from tilewright.arch.components.components import Memory
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.layout.enumeration.banks import Banks
from tilewright.mapper.layout.enumeration.layout_space import LayoutSpace
from tilewright.mapper.layout.tiling import Tiling, number_format
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.workload.errors import InfeasibleMapping

INT8 = Tiling((), number_format("int8"))
BANKS = {"BUF": Banks(alignment=2, banks=4, word_bytes=1, read_words=2)}
SPREAD = ARCH.replace(
    "name: BUF", "name: BUF\n    spatial: [{{name: X, fanout: 4}}, {{name: Y, fanout: 2}}]"
)


def layouts_of(text: str = ARCH, size: object = 4096, **parts: object) -> LayoutSpace:
    work = workload(8, 6, 4)
    arch = load_arch(text.format(rules="keep: All", dim="fanout: 2", size=size))
    (flat,) = flatten(arch, work.scope(work.einsums[0]))
    return LayoutSpace(Mapspace(work.einsums[0], flat), INT8, BANKS, **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [array_space_of, network_space_of])
def test_units_are_the_instances_of_a_memory(make: Callable[[int], Mapspace]) -> None:
    for seed in range(12):
        layouts = LayoutSpace(make(seed))
        for part in layouts.space.flat.components:
            if isinstance(part, Memory):
                assert prod(layouts.units(part.name)) == layouts.space.flat.instances(part.name)


def test_each_shard_shape_of_a_tensor_comes_once() -> None:
    """A is 8 × 6; 8 instances: grids of at most 8 cells with different shards."""
    layouts = layouts_of(SPREAD)
    assert layouts.units("BUF") == (4, 2)
    assert layouts.units("DRAM") == (1,)
    found = list(layouts.shardings("A", "BUF"))
    shards = [layout.shard_shape for layout in found]
    assert len(shards) == len(set(shards))
    tried = {
        (-(-8 // rows), -(-6 // columns))
        for rows in range(1, 9)
        for columns in range(1, 9)
        if rows * columns <= 8
    }
    assert set(shards) == tried
    assert not any(layout.phantom_cells for layout in found)


def test_shards_that_do_not_fit_are_left_out_or_named() -> None:
    small = layouts_of(SPREAD, size=8 * 12)
    assert {layout.bytes_per_unit for layout in small.shardings("A", "BUF")} == {6, 8, 9, 12}
    wide = replace(small, tiling=Tiling((4, 4), number_format("f32")))
    with pytest.raises(InfeasibleMapping) as caught:
        list(wide.shardings("A", "BUF"))
    assert caught.value.instead == "a format with tiles of at most 12 bytes"
    with pytest.raises(InfeasibleMapping) as caught:
        list(layouts_of(SPREAD, size=8 * 5).shardings("A", "BUF"))
    assert caught.value.what == ("each of 8 BUF: a shard of A has at least 6 bytes, BUF has 5")
    assert caught.value.instead == "12 instances"


@given(st.integers(0, 1000), st.integers(40, 300))
def test_no_two_live_tiles_overlap_in_any_placement(seed: int, size: int) -> None:
    """Aligned, inside the memory, and of the model's sizes."""
    layouts = layouts_of(size=8 * size)
    try:
        mapping = layouts.space.sample(random.Random(seed))
    except InfeasibleMapping:
        return
    tiles = {
        tile.tensor: -(-tile.bits // 8)
        for tile in MappingScorer(layouts.space).occupancy(mapping)
        if tile.component == "BUF"
    }
    try:
        found = list(layouts.placements(mapping, "BUF"))
    except InfeasibleMapping:
        assert sum(tiles.values()) + 3 * len(tiles) > size
        return
    for packed in found:
        assert {b.request.name: b.request.tile_bytes for b in packed.buffers} == tiles
        assert all(b.address % 2 == 0 and b.end <= size for b in packed.buffers)
        for first, second in combinations(packed.buffers, 2):
            assert first.end <= second.address or second.end <= first.address


def test_the_best_placement_has_no_inputs_that_meet() -> None:
    layouts = layouts_of()
    mapping = next(iter(layouts.space))
    every = list(layouts.placements(mapping, "BUF"))
    assert len(every) == 2**3
    meeting = [BANKS["BUF"].meetings(packed, ("A", "B")) for packed in every]
    assert any(meeting)
    assert not BANKS["BUF"].meetings(layouts.best_placement(mapping, "BUF"), ("A", "B"))


def fullest(layouts: LayoutSpace) -> Mapping:
    """Return a mapping with the most bits in BUF."""
    scorer = MappingScorer(layouts.space)

    def bits(mapping: Mapping) -> int:
        return sum(t.bits for t in scorer.occupancy(mapping) if t.component == "BUF")

    return max(layouts.space, key=bits)


def test_tiles_that_never_live_together_share_addresses() -> None:
    """A (48 bytes) all the time, B (2) in step 0, Z (16) in step 1: 64 bytes instead of 66."""
    layouts = layouts_of()
    mapping = fullest(layouts)
    apart = replace(layouts, lifetimes={"A": (0, 1), "B": (0, 0), "Z": (1, 1)})
    used = [min(p.used for p in at.placements(mapping, "BUF")) for at in (layouts, apart)]
    assert used == [48 + 16 + 2, 48 + 16]


def test_a_memory_that_is_too_small_is_named_with_its_tiles() -> None:
    layouts = layouts_of()
    mapping = fullest(layouts)
    with pytest.raises(InfeasibleMapping) as caught:
        list(layouts_of(size=8 * 60).placements(mapping, "BUF"))
    assert caught.value.what == (
        "each BUF: step 0 has Z (16 bytes), A (48 bytes), B (2 bytes) alive: 66 of 60 bytes"
    )
    assert caught.value.instead == "tiles of at most 42 bytes for A"
    assert next(iter(layouts.placements(mapping, "DRAM"))).buffers


def test_mappings_without_addresses_are_left_out_of_the_mapspace() -> None:
    """Three tiles at multiples of 16 need up to 30 bytes besides their own."""
    layouts = replace(layouts_of(size=8 * 60), banks={"BUF": Banks(alignment=16)})
    placed = {found.mapping: found.packed for found in layouts.placed_mappings("BUF")}
    left_out = 0
    for mapping in layouts.space:
        if mapping in placed:
            assert placed[mapping] == layouts.best_placement(mapping, "BUF")
            continue
        left_out += 1
        with pytest.raises(InfeasibleMapping):
            layouts.best_placement(mapping, "BUF")
    assert placed
    assert left_out


def test_a_mapspace_has_layouts() -> None:
    layouts = layouts_of()
    assert layouts.space.layouts(INT8, BANKS) == layouts
    times = {"A": (0, 1)}
    assert layouts.space.layouts(INT8, BANKS, times) == replace(layouts, lifetimes=times)
    plain = layouts.space.layouts()
    assert [at.tiling.tile_bytes for at in plain.shardings("A", "BUF")][:1] == [4]


def test_unknown_names_are_refused() -> None:
    layouts = layouts_of()
    with pytest.raises(SpecError, match="no tensor Q"):
        list(layouts.shardings("Q", "BUF"))
    with pytest.raises(SpecError, match="MAC is no memory"):
        layouts.units("MAC")
