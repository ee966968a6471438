"""Hops on a network against messages sent one by one.

One tensor goes from a memory to the instances of a grid below a network, spread (each instance its
own part) or shared (all the same), by random spatial loops, at most one in each of two dimensions.
Every value is sent on its own, link by link. On the mesh, a loop passes data along its axis: a
shared tile in a chain, in which every instance on the way takes its copy; parts each all the way.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewright.arch.load import load_arch
from tilewright.mapper.evaluation import evaluate
from tilewright.mapper.mapping import Compute, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.workload import load_workload

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
  - !Network
    name: NOC
    topology: TOPOLOGY
    area: 0
    leak_power: 0
    actions: [{name: hop, energy: 1, throughput: 1, latency: 0}]
  - !Container
    name: PE
    spatial: [{name: x, fanout: 8}, {name: y, fanout: 8}]
  - !Memory
    name: REG
    size: inf
    area: 0
    leak_power: 0
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
ARCHES = {name: load_arch(ARCH.replace("TOPOLOGY", name)) for name in ("mesh", "all_to_all")}


def send(
    mesh: bool, turns: int, stride: int, volume: int, shared: bool
) -> tuple[int, Counter[int]]:
    """Send a tile of `volume` values to each of `turns` instances, `stride` links apart.

    Return the hops and the values on each link.
    """
    links: Counter[int] = Counter()
    if not mesh:  # a switch: one link out of the source, one hop to each other instance
        for _ in range(1, turns):
            links[0] += 0 if shared else volume
        return (turns - 1) * volume, links + Counter({0: volume}) if shared else links
    for target in range(1, turns):
        start = target - 1 if shared else 0
        for link in range(start * stride, target * stride):
            links[link] += volume
    return sum(links.values()), links


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_hops_equal_messages_sent_one_by_one(data: Any) -> None:
    topology = data.draw(st.sampled_from(sorted(ARCHES)))
    sizes = {name: data.draw(st.sampled_from([2, 4, 8])) for name in "mn"}
    workload = load_workload(
        f"workload:\n  rank_sizes: {{M: {sizes['m']}, N: {sizes['n']}}}\n"
        '  bits_per_value: {All: 1}\n  einsums: ["Z[m, n] = A[m] * B[n]"]\n'
    )
    left, loops = dict(sizes), []
    for dim in data.draw(st.permutations("xy")):
        name = data.draw(st.sampled_from("mn"))
        tiles = [t for t in range(1, left[name]) if left[name] % t == 0]
        if tiles:
            tile = data.draw(st.sampled_from(tiles))
            loops.append((Spatial(name, tile, dim, "PE"), left[name] // tile))
            left[name] = tile
    again = data.draw(st.sampled_from([1, 2]))
    temporal = []
    if again == 2 and left["m"] > 1:
        temporal = [Temporal("m", left["m"] // 2 * (sizes["m"] // left["m"]))]
    else:
        again = 1
    nodes = [Storage(("A", "B", "Z"), "DRAM"), *temporal]
    shrink = {"m": again, "n": 1}
    spatial = [
        Spatial(s.rank_variable, max(s.tile_shape // shrink[s.rank_variable], 1), s.name, "PE")
        for s, _ in loops
    ]
    nodes += [*spatial, Storage(("A", "B"), "REG")]
    nodes += [Temporal("m", 1), Temporal("n", 1), Compute("Z", "MAC")]
    score = evaluate(ARCHES[topology], workload, Mapping(tuple(nodes)))
    for tensor, own in (("A", "m"), ("B", "n")):
        hops = 0
        for (_, turns), node in reversed(list(zip(loops, spatial, strict=True))):
            tile = {"m": sizes["m"] // again, "n": sizes["n"]}
            for above in spatial[: spatial.index(node) + 1]:
                tile[above.rank_variable] = above.tile_shape
            sent, links = send(topology == "mesh", turns, 1, tile[own], node.rank_variable != own)
            assert not links or links[0] == max(links.values())  # as the model claims
            hops = hops * turns + sent
        key = f"Z/NOC/{tensor}/hop"
        assert score.actions[key] == Fraction(hops * again), key
