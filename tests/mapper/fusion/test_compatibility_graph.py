"""The graph of compatibilities: its paths are the ways to join pmappings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from fused_example import graph_within, join_search

from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.join.compatibility_graph import (
    CompatibilityGraph,
    JoinLimits,
    build_graph,
    joined_compatibility,
)
from tilewright.mapper.fusion.join.join_step import START, Compatibility
from tilewright.mapper.searches.budget import Budget


@pytest.fixture(scope="module")
def graph() -> CompatibilityGraph:
    """Return the graph of the running example with a buffer of 8 bits."""
    graph = graph_within(join_search(8))
    assert graph is not None
    return graph


def path_costs(
    graph: CompatibilityGraph, number: int, source: Compatibility, node: int
) -> Iterator[tuple[float, float]]:
    """Yield the least energy and latency of every path from a node to the end, one by one."""
    if number == len(graph.steps):
        yield 0.0, 0.0
        return
    for edges in graph.edges[number]:
        for start, tiling, end in zip(edges.nodes, edges.tilings, edges.target_nodes, strict=True):
            if edges.source == source and start == node:
                energy, latency = edges.group.least_costs[tiling].tolist()
                for more in path_costs(graph, number + 1, edges.target, int(end)):
                    yield energy + more[0], latency + more[1]


def test_remaining_costs_are_those_of_the_best_paths(graph: CompatibilityGraph) -> None:
    for number, of_compatibility in enumerate(graph.remaining):
        for source, costs in of_compatibility.items():
            for node, remaining in enumerate(costs.tolist()):
                paths = list(path_costs(graph, number, source, node))
                least = [min((path[i] for path in paths), default=float("inf")) for i in (0, 1)]
                assert remaining == pytest.approx(least)
    assert graph.least_costs[0] == 2568.0  # capacity between Einsums does not count here


def test_a_limit_keeps_the_edges_of_paths_within_it(graph: CompatibilityGraph) -> None:
    """What is to come counts as nothing here, so that only costs so far are compared."""
    limits = JoinLimits((3000.0, float("inf")), lambda number, on_chip: (0.0, 0.0))
    limited = build_graph(graph.steps, limits, Budget())
    everything = sorted(energy for energy, _ in path_costs(graph, 0, START, 0))
    within = sorted(energy for energy, _ in path_costs(limited, 0, START, 0))
    assert 0 < len(within) < len(everything)
    assert set(within) <= set(everything)
    assert within[0] == everything[0]
    assert limited.size < graph.size


def test_edges_match_loops_tile_by_tile(graph: CompatibilityGraph) -> None:
    for number, edges_of_step in enumerate(graph.edges):
        for edges in edges_of_step:
            count = len(edges.source.loops)
            assert edges.group.loops[:count] == edges.source.loops
            codes = graph.codes[number][edges.source][edges.nodes]
            tiles = graph.tile_codes.decode(edges.source.loops, codes)
            assert np.array_equal(tiles, edges.group.tiles[edges.tilings][:, :count])


def test_what_neighbours_must_agree_about(graph: CompatibilityGraph) -> None:
    """Behind Y the loops above it and its depth are left; behind Z, the last Einsum, nothing."""
    first, second = graph.steps
    loops = (LoopName("m"),)
    group = next(group for group in first.groups if group.loops == loops)
    shared = joined_compatibility(first, START, group)
    assert shared == Compatibility(loops, (1,), ())
    following = next(group for group in second.groups if group.loops == loops)
    assert joined_compatibility(second, shared, following) == START
