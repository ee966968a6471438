"""Points that share a mapping are counted once."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from buffer_spaces import random_space, space, workload
from explore import at_night
from figures import Row, row_of, unbeaten
from tight_cases import tight_space_of

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.locate import MapspacePoint
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.mapping_scorer import MappingScorer

REGISTERS_BEHIND_A_NETWORK = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    tensors: {keep: All}
    actions: [{name: read, energy: 9, throughput: 8}, {name: write, energy: 9, throughput: 8}]
  - !Memory
    name: BUF
    size: 64
    tensors: {keep: input}
    actions: [{name: read, energy: 5, throughput: 8}, {name: write, energy: 5, throughput: 8}]
  - !Network
    name: NET
    topology: mesh
    actions: [{name: hop, energy: 1, throughput: 1, latency: 1}]
  - !Container
    name: PE
    spatial: [{name: x, fanout: 2, may_reuse: Nothing}]
  - !Memory
    name: REG
    size: 64
    tensors: {keep: weight}
    actions: [{name: read, energy: 1, throughput: 8}, {name: write, energy: 1, throughput: 8}]
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1, throughput: 1}]
"""


def check_distinct(room: Mapspace) -> bool:
    """Compare the count with a list of all points; tell whether points share mappings."""
    every = room.points_within(lambda: None)
    if sum(points.count for points in every) > 3000:
        return False
    listed = [str(mapping) for mapping in room]
    assert len(set(listed)) == len(listed)
    counted = room.count_fitting()
    if counted is not None:
        assert counted == len(listed)
    return room.size.points < room.point_count_bound


@pytest.mark.parametrize("seed", [*range(4), *at_night(*range(4, 10))])
def test_enumeration_yields_each_mapping_once(seed: int) -> None:
    check_distinct(random_space(seed))


def test_small_memories_make_points_that_share_mappings() -> None:
    shared = [check_distinct(tight_space_of(seed)) for seed in (0, 3)]
    assert any(shared)


def test_without_small_memories_each_point_is_a_mapping() -> None:
    room = space("keep: weight")
    assert room.size.points == room.point_count_bound == len(list(room))


def test_the_order_of_loops_below_adjacent_holders_makes_mappings() -> None:
    """Below `[BUF] A, [REG] B` the loops k, m, n leave A one value; k, n, m leave it two."""
    work = workload(m=2, k=2, n=2)
    (flat,) = flatten(load_arch(REGISTERS_BEHIND_A_NETWORK), work.scope(work.einsums[0]))
    room = Mapspace(work.einsums[0], flat).with_crowded(frozenset({"BUF", "REG"}))
    scorer = MappingScorer(room)

    def figures(mappings: Iterable[Mapping]) -> list[Row]:
        return unbeaten(row_of(scorer.score(mapping), ("BUF", "REG")) for mapping in mappings)

    every = [
        room.mapping_at(MapspacePoint(number, tiles))
        for number, points in enumerate(room.points_within(lambda: None))
        for tiles in points
    ]
    assert figures(room) == figures(every)
    check_distinct(room)
