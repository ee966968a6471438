"""How Einsums are joined: exchanged, live and contested tensors, and codes of tiles."""

from __future__ import annotations

import numpy as np
from fused_cases import workload_of
from fused_example import graph_within, join_search, plan

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.fusion.join.join_step import (
    CarriedTensor,
    Compatibility,
    ReadTensor,
    TileCodes,
)
from tilewright.mapper.searches.budget import Budget

Y = TensorPlace("Y", "BUF")
OVER_M = Compatibility((LoopName("m"),), (1,), ())


def whole_graph(search: JoinSearch) -> CompatibilityGraph:
    graph = graph_within(search)
    assert graph is not None
    return graph


def test_the_running_example_writes_then_reads_y() -> None:
    first, second = whole_graph(join_search(8)).steps
    assert (first.live_before, first.live_after) == ((), (Y,))
    assert (second.live_before, second.live_after) == ((Y,), ())
    assert first.written == (0,)
    assert first.carried == (CarriedTensor(live=None, position=0),)
    assert second.read == (ReadTensor(live=0, position=0),)
    assert second.written == second.carried == ()


def test_a_tensor_is_carried_past_an_einsum_that_does_not_use_it() -> None:
    """Y is live while V is computed, which has no position for it in its boundary."""
    texts = ("Y[m] = A[m] * B[m]", "V[m] = C[m] * D[m]", "Z[m] = Y[m] * V[m]")
    workload = workload_of(texts, {"m": 2})
    middle = whole_graph(JoinSearch(plan(4, workload).problem, Budget())).steps[1]
    assert middle.live_before == (Y,)
    assert middle.read == ()
    assert dict(zip(middle.live_after, middle.carried, strict=True)) == {
        Y: CarriedTensor(live=0, position=None),
        TensorPlace("V", "BUF"): CarriedTensor(live=None, position=0),
    }


def test_bits_of_what_stands_below_all_shared_loops() -> None:
    """theory/fusion.md §4: below the loop over m with tiles of 2, Y has 2 x 2 bits."""
    step = whole_graph(join_search(8)).steps[1]
    group = next(group for group in step.groups if group.loops == OVER_M.loops)
    tiles = np.array([[2], [1]])
    assert step.shared_loops(OVER_M, group) == 1
    assert step.tensors_with_tile(OVER_M, group) == (0,)
    assert step.bits_below_shared_loops(OVER_M, group, tiles, "BUF").tolist() == [4.0, 2.0]
    assert step.bits_below_shared_loops(OVER_M, group, tiles, "REG").tolist() == [0.0, 0.0]
    assert step.tensors_from_now(OVER_M, group, "BUF") == []
    assert step.widening_bits(OVER_M, group, tiles, "BUF") == []


def test_codes_tell_tilings_apart_and_give_them_back() -> None:
    steps = whole_graph(join_search(8)).steps
    codes = TileCodes(steps)
    for group in (group for step in steps for group in step.groups):
        encoded = codes.encode(group)
        assert len(set(encoded.tolist())) == len(group)
        assert codes.decode(group.loops, encoded).tolist() == group.tiles.tolist()
        for count in range(len(group.loops) + 1):
            outer = codes.decode(group.loops[:count], codes.prefix(encoded, count))
            assert outer.tolist() == group.tiles[:, :count].tolist()
