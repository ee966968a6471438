"""Lanes above the memory in which Einsums exchange tensors."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from explore import at_night
from fused_cases import two_memories, workload_of

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import (
    SharedSpatialLoop,
    lane_stride,
    tiles_below,
    with_spatial_loops,
)
from tilewright.mapper.mapping.mapping import Node, Sequential, Spatial, TollNode
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.workload_loading import load_workload

CHAIN = ("Y[m, n] = A[m, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]")
SIZES = {"m": 4, "k": 4, "n": 4, "p": 4}
TILE = "  - !Container\n    name: TILE\n    spatial: [{name: x, fanout: 4%s}]\n"
TOLL = (
    "  - !Toll\n    name: LINK\n    direction: up_and_down\n    leak_power: 0\n    area: 0\n"
    "    tensors: {keep: All}\n    actions: [{name: read, energy: 3, throughput: 4}]\n"
)


def spread(
    rules: str = "",
    above: str = "",
    below: str = "",
    size: int = 24,
    outer: str = 'keep: "~Intermediates", may_keep: All',
) -> Arch:
    """Return DRAM and BUF with four lanes between; `above` and `below` them more nodes."""
    fields = "leak_power: 0\n    area: 0\n"
    return load_arch(
        "arch:\n  nodes:\n"
        f"  - !Memory\n    name: DRAM\n    size: inf\n    {fields}"
        f"    tensors: {{{outer}}}\n"
        "    actions: [{name: read, energy: 50, throughput: 16},"
        " {name: write, energy: 50, throughput: 16}]\n"
        f"{above}{TILE % rules}{below}"
        f"  - !Memory\n    name: BUF\n    size: {size}\n    {fields}"
        '    tensors: {keep: "~DRAM", may_keep: All}\n'
        "    actions: [{name: read, energy: 1, throughput: 64},"
        " {name: write, energy: 1, throughput: 64}]\n"
        f"  - !Compute\n    name: MAC\n    {fields}"
        "    actions: [{name: compute, energy: 1, throughput: 1}]\n"
    )


def spatial_of(nodes: tuple[Node, ...]) -> list[Spatial]:
    return [node for node in nodes if isinstance(node, Spatial)]


def test_tiles_below_loops_and_lanes() -> None:
    """m = 24: loops to 12, then 4 lanes of 3, then loops to 1; n = 8 over 2 lanes, then to 2."""
    spreads = (
        SharedSpatialLoop((1, 0), 0, 4, ("T", "x")),
        SharedSpatialLoop((1, 0), 1, 2, ("T", "x")),
    )
    order = with_spatial_loops(((0, 12), (0, 0), (1, 0)), (1, 1))
    assert order == ((0, 12), (-1, 0), (-2, 0), (0, 0), (1, 0))
    lattice = Lattice({"m": 24, "n": 8})
    state = lattice.offset(lattice.exponents((4, 4)))  # lanes taken for one: 4 x 1, 2 x 2
    below = tiles_below(order, spreads, lattice.bounds, lattice.tiles[[state]])
    assert below.tolist() == [[12, 3, 4, 1, 2]]
    assert lattice.tiles[state - lane_stride(lattice, spreads)].tolist() == [1, 2]


def test_two_dimensions_deal_one_variable() -> None:
    spreads = (
        SharedSpatialLoop((1, 0), 0, 2, ("T", "x")),
        SharedSpatialLoop((1, 1), 0, 3, ("T", "y")),
    )
    order = with_spatial_loops((), (0, 0))
    assert tiles_below(order, spreads, (12,), np.array([[12]])).tolist() == [[6, 2]]


def test_lanes_hold_what_is_exchanged_apart() -> None:
    """Four lanes over m: each keeps its rows of Y, every operation goes to a lane of four."""
    arch, work = spread(), workload_of(CHAIN, SIZES)
    result = search(arch, work, objective="latency")
    assert not result.notes
    assert result.on_chip == ("Y",)
    assert result.certificate.kind == "optimal"
    assert result.best.score.latency == 2 * 64 / 4
    (lanes,) = spatial_of(result.best.mapping.nodes)
    assert (lanes.component, lanes.tile_shape) == ("TILE", 1)
    assert isinstance(result.best.mapping.nodes[-1], Sequential)
    assert "shared spatial loops only above BUF" in result.certificate.scope
    assert result.best.score.energy < search(arch, work, fusion=False).best.score.energy


def test_lanes_over_what_one_einsum_sums_are_not_shared() -> None:
    """Only k may be dealt, over which Y is summed up: then Y cannot stay in a lane."""
    rule = ", loop_bounds: [{expression: ~k, operator: ==, value: 1}]"
    result = search(spread(rule), workload_of(CHAIN[:1], SIZES), objective="latency")
    assert [loop.rank_variable for loop in spatial_of(result.best.mapping.nodes)] == ["k"]
    both = search(spread(rule), workload_of(CHAIN, SIZES), objective="latency")
    assert both.on_chip == ()
    assert not spatial_of(both.best.mapping.nodes)


@pytest.mark.parametrize("objective", ["edp", *at_night("energy", "latency")])
def test_lanes_of_variables_under_other_names(objective: str) -> None:
    """The second Einsum calls the ranks of Y by other names, in another order."""
    texts = (CHAIN[0], "Z[b, p] = Y[M: b, N: a] * C[a, p]")
    sizes = {"m": 4, "k": 4, "n": 4, "p": 4}
    arch, same = spread(), workload_of(CHAIN, sizes)
    work = workload_of(texts, {**sizes, "a": 4, "b": 4})
    result = search(arch, work, objective=objective)
    assert result.certificate.value == search(arch, same, objective=objective).certificate.value
    (lanes,) = spatial_of(result.best.mapping.nodes)
    assert dict(lanes.names) in ({"Z": "b"}, {"Z": "a"})
    again = load_mapping(dump_mapping(result.best.mapping))
    assert evaluate(arch, work, again) == result.best.score


def test_tolls_stand_above_the_lanes_that_they_feed() -> None:
    """What a Toll charges counts once for a value that all lanes share, if the Toll is above."""
    work = workload_of(CHAIN, SIZES)
    scores = {}
    for name, arch in (("above", spread(above=TOLL)), ("below", spread(below=TOLL))):
        result = search(arch, work)
        assert not result.notes
        assert result.on_chip == ("Y",)
        nodes = result.best.mapping.nodes
        tolls = [i for i, node in enumerate(nodes) if isinstance(node, TollNode)]
        lanes = [i for i, node in enumerate(nodes) if isinstance(node, Spatial)]
        if name == "above" and lanes:
            assert all(toll < lanes[0] for toll in tolls)
        scores[name] = result.best.score.energy
    assert scores["above"] <= scores["below"]


COPIED = load_workload("""
workload:
  rank_sizes: {M: 4, N: 4, K: 4}
  bits_per_value: {All: 1}
  einsums:
  - einsum: "I[m, k] = A[m, k]"
    is_copy_operation: true
    renames: {input: A, output: I, weight: Nothing}
  - {einsum: "Y[m, n] = I[m, k] * B[k, n]", renames: {input: I, weight: B, output: Y}}
  - {einsum: "Z[m] = Y[m, n] * C[n]", renames: {input: Y, weight: C, output: Z}}
""")


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_what_a_copy_hands_over_is_dealt(conventions: str) -> None:
    """A copy shares lanes: what it leaves on chip is in those that read it."""
    arch = spread(size=24, outer='keep: "~Intermediates"')
    found = search(arch, COPIED, conventions=conventions, objective="latency")
    assert found.certificate.kind == "optimal"
    assert "no lanes" not in found.certificate.scope
    assert (found.on_chip, len(spatial_of(found.best.mapping.nodes))) == (("I", "Y"), 1)
    assert evaluate(arch, COPIED, found.best.mapping, conventions) == found.best.score
    assert found.best.score.latency < 64  # of the operations of Y alone in one lane


@pytest.mark.nightly
def test_networks_above_such_lanes_send_to_each() -> None:
    """Four lanes over m, three of them a hop away or more: only where that is worth its time."""
    for throughput, dealt in ((4, 4), (0.001, 1)):
        network = (
            "  - !Network\n    name: NET\n    leak_power: 0\n    area: 0\n    topology: mesh\n"
            f"    actions: [{{name: hop, energy: 1, throughput: {throughput}, latency: 1}}]\n"
        )
        small = {"m": 4, "k": 1, "n": 2, "p": 1}
        found = search(spread(above=network), workload_of(CHAIN, small), objective="latency")
        assert not found.notes
        assert found.on_chip == ("Y",)
        assert found.certificate.kind == "optimal"
        lanes = [4 // node.tile_shape for node in spatial_of(found.best.mapping.nodes)]
        assert prod(lanes) == dealt


def test_the_scope_says_that_copies_share_no_lanes() -> None:

    def scope(arch: Arch) -> str:
        return search(arch, COPIED, budget=0.0).certificate.scope  # a whole search says the same

    assert "no lanes" not in scope(spread(size=64))
    assert "copies I share no lanes above BUF" in scope(spread(size=64, above=TOLL))
    assert "share no lanes" not in scope(two_memories(64))
