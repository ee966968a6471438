"""Tables of pmappings: groups by compatibility, and names of solutions that Einsums share."""

from __future__ import annotations

import numpy as np
from fused_cases import workload_of
from fused_example import WORKLOAD, graph_within, join_search, machine, paths_of, plan

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.fusion.pmappings.pmapping_table import (
    ChosenPmapping,
    PmappingGroup,
    PmappingTable,
    value_widths,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget

GROUP = PmappingGroup(
    loops=(LoopName("m"), LoopName("n")),
    depths=(2, -1, 0),
    held_tensors=(),
    tiles=np.array([[1, 1], [2, 1]]),
    sizes=np.zeros((2, 3)),
    start=np.array([0, 2, 3]),
    values=np.array([[5.0, 9.0, 0.0], [7.0, 8.0, 0.0], [6.0, 4.0, 0.0]]),
    origins=np.zeros((3, 2), np.int64),
)  # two tilings: with two pmappings, and with one


def test_a_group_knows_the_least_costs_of_its_tilings() -> None:
    assert len(GROUP) == 2
    assert GROUP.least_costs.tolist() == [[5.0, 8.0], [6.0, 4.0]]
    assert GROUP.on_chip_mask == 0b101


def test_a_chosen_pmapping_has_the_tiles_of_its_tiling() -> None:
    chosen = ChosenPmapping(GROUP, tiling=1, pmapping=2, shared_loops=1)
    assert chosen.loops == ((LoopName("m"), 2), (LoopName("n"), 1))


def test_widths_are_zero_where_the_einsum_sees_no_memory() -> None:
    einsum, flat = paths_of(WORKLOAD, machine(8))[0]
    widths = value_widths(Mapspace(einsum, flat), ("BUF", "LINK"))
    assert widths == {
        TensorPlace(tensor, memory): 1.0 if memory == "BUF" else 0.0
        for tensor in ("A", "B", "Y")
        for memory in ("BUF", "LINK")
    }


def test_sizes_of_tensors_on_chip_follow_from_tiles() -> None:
    """Y[m, n] with m = 4 and n = 2 below loops over them: the product of both tiles."""
    graph = graph_within(join_search(8))
    assert graph is not None
    bounds = {"m": 4, "n": 2}
    for group in graph.steps[0].groups:
        if group.depths[0] >= 0:
            for tiles, (bits,) in zip(group.tiles.tolist(), group.sizes.tolist(), strict=True):
                names = (loop.variable for loop in group.loops)
                tile = bounds | dict(zip(names, tiles, strict=True))
                assert bits == tile["m"] * tile["n"]


def test_einsums_that_differ_in_names_share_a_solution() -> None:
    """Each has a table in its own names."""
    workload = workload_of(("Y[m] = A[m] * B[m]", "X[n] = C[n] * D[n]"), {"m": 4, "n": 4})
    graph = graph_within(JoinSearch(plan(2, workload).problem, Budget()), (1e9, 1e9))
    assert graph is not None
    first, second = (step.tables[0] for step in graph.steps)
    assert isinstance(first, PmappingTable)
    assert isinstance(second, PmappingTable)
    assert first.solution is second.solution
    assert set(first.space.einsum.tensors) == set("ABY")
    assert set(second.space.einsum.tensors) == set("CDX")
    for one, other in zip(first.groups, second.groups, strict=True):
        assert one.values.tolist() == other.values.tolist()
