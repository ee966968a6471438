"""Networks against messages sent one by one, link by link.

Every tile of every tensor is sent on its own, in every round, and every link remembers what it has
carried. On the mesh, a loop passes data along its axis: a shared tile in a chain, in which every
instance on the way takes its copy; parts each all the way. On a switch, a message is one hop, and
loads the port of its sender and that of its receiver. Covered: temporal loops above and between the
spatial ones, several loops in a dimension, two dimensions, instances of the network, uneven and
first tiles, convolutions, tensors that may not be shared, bypassed memories, and memories
distributed over the grid. Compared: hops, the busiest link of all, the longest way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.workload.workload_loading import load_workload

BOTH = "[{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]"
HOP = "actions: [{name: hop, energy: 1, throughput: 1, latency: 1}]"
FREE = "area: 0, leak_power: 0"
CORES = f"""
arch:
  nodes:
  - !Memory {{name: DRAM, size: inf, {FREE}, actions: {BOTH}}}
  - !Container {{name: CORE, spatial: [{{name: core, fanout: 4}}]}}
  - !Network {{name: NOC, topology: TOPOLOGY, {FREE}, {HOP}, total_latency: MEASURE}}
  - !Container
    name: PE
    spatial:
    - {{name: x, fanout: 8, may_reuse: SHARED_X}}
    - {{name: y, fanout: 8, may_reuse: SHARED_Y}}
  - !Memory {{name: REG, size: inf, {FREE}, actions: {BOTH}}}
  - !Compute {{name: MAC, {FREE}, actions: [{{name: compute, energy: 1, throughput: 1}}]}}
"""
ARRAY = f"""
arch:
  nodes:
  - !Array
    name: PE
    spatial: [{{name: x, fanout: 8}}, {{name: y, fanout: 8}}]
    nodes:
    - !Memory
      name: DRAM
      size: inf
      area: 0
      leak_power: 0
      actions: {BOTH}
      spatial: [{{name: x, fanout: PLACES}}, {{name: y, fanout: 1}}]
    - !Network {{name: NOC, topology: TOPOLOGY, {FREE}, {HOP}, total_latency: MEASURE}}
  - !Memory {{name: REG, size: inf, {FREE}, actions: {BOTH}}}
  - !Compute {{name: MAC, {FREE}, actions: [{{name: compute, energy: 1, throughput: 1}}]}}
"""
EINSUMS = {
    "Z[m, n] = A[m] * B[n]": ("M", "N"),
    "Z[m, n] = A[m, k] * B[k, n]": ("M", "N", "K"),
    "Z[m, p] = A[H: p + r] * B[m, r]": ("M", "P", "R"),
    "Z[p] = A[H: 2*p + r] * B[r]": ("P", "R"),
}
Space = dict[str, tuple[int, int]]
Line = tuple[int, dict[str, int], str]  # network, coordinates of the sender, dimension


@dataclass
class Case:
    einsum: str
    sizes: dict[str, int]
    nodes: list[Any]
    topology: str
    shared: dict[str, str]  # tensors that each dimension may share
    places: int = 1  # of the source along x

    def arch(self, measure: str) -> str:
        text = CORES if self.places == 1 else ARRAY
        for dim in "xy":
            may = " | ".join(self.shared[dim]) or "Nothing"
            text = text.replace(f"SHARED_{dim.upper()}", may)
        text = text.replace("PLACES", str(self.places))
        return text.replace("TOPOLOGY", self.topology).replace("MEASURE", measure)


@dataclass
class Sender:
    """Sends one tensor; `links[link]` is shared by all tensors."""

    case: Case
    access: Any
    bounds: dict[str, int]
    links: Counter[Any]
    hops: int = 0
    farthest: int = 0
    strides: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        left, used = dict(self.bounds), {"x": 1, "y": 1, "core": 1}
        turns = {}
        for number, node in enumerate(self.case.nodes):
            if isinstance(node, (Temporal, Spatial)):
                turns[number] = -(-left[node.rank_variable] // node.tile_shape)
                first = getattr(node, "initial_tile_shape", None) or 0
                left[node.rank_variable] = max(node.tile_shape, first)
        for number, node in reversed(list(enumerate(self.case.nodes))):
            if isinstance(node, Spatial):
                self.strides[number] = used[node.name]
                used[node.name] *= turns[number]
        self.walk(0, {v: (0, size) for v, size in self.bounds.items()}, (0, {"x": 0, "y": 0}), 0)

    def walk(self, number: int, space: Space, place: tuple[int, dict[str, int]], way: int) -> None:
        node = self.case.nodes[number]
        core, at = place
        arrived = isinstance(node, Storage) and (node.tensors, node.component) == (
            (self.access.tensor,), "REG",
        )  # fmt: skip
        if arrived or isinstance(node, ComputeNode):
            self.farthest = max(self.farthest, way)
        elif isinstance(node, Storage):
            self.walk(number + 1, space, place, way)
        elif isinstance(node, Temporal):
            for part in split(node, space):
                self.walk(number + 1, part, place, way)
        elif node.component == "CORE":
            for index, part in enumerate(split(node, space)):
                self.walk(number + 1, part, (core * 8 + index, at), way)
        else:
            self.deal(number, space, place, way)

    def deal(self, number: int, space: Space, place: tuple[int, dict[str, int]], way: int) -> None:
        node = self.case.nodes[number]
        core, at = place
        irrelevant = self.access.relevance(node.rank_variable) == "irrelevant"
        shared = irrelevant and self.access.tensor in self.case.shared[node.name]
        mesh = self.case.topology == "mesh"
        for index, part in enumerate(split(node, space)):
            send = self.on_mesh if mesh else self.on_switch
            step = (index, self.strides[number], shared)
            gone = send((core, at, node.name), step, volume(self.access, part))
            target = {**at, node.name: at[node.name] + index * self.strides[number]}
            if node.name == "x" and (shared or self.strides[number] < self.served()):
                target["handed on"] = 1
            self.walk(number + 1, part, (core, target), way + gone)

    def served(self) -> int:
        """Instances along x that one place of the source serves."""
        return 8 // self.case.places

    def on_switch(self, line: Line, step: tuple[int, int, bool], size: int) -> int:
        core, at, dim = line
        index, stride, shared = step
        if index == 0:
            return 0
        self.hops += size
        receiver = {**at, dim: at[dim] + index * stride}
        self.links["in", core, dim, receiver["x"], receiver["y"]] += size
        if index == 1 or not shared:  # the switch makes the copies
            self.links["out", core, dim, at["x"], at["y"]] += size
        return 1

    def on_mesh(self, line: Line, step: tuple[int, int, bool], size: int) -> int:
        core, at, dim = line
        index, stride, shared = step
        target = at[dim] + index * stride
        start = at[dim]
        if shared:
            start = max(target - stride, at[dim])
        elif dim == "x" and "handed on" not in at:  # from the nearest place; many have their own
            start = target if stride >= self.served() else target - target % self.served()
        for link in range(start, target):
            self.links["mesh", core, dim, link, at["y" if dim == "x" else "x"]] += size
            self.hops += size
        return target - at[dim] if shared else target - start


def split(node: Any, space: Space) -> list[Space]:
    start, size = space[node.rank_variable]
    end, first = start + size, getattr(node, "initial_tile_shape", None)
    found = []
    while start < end:
        step = min(first or node.tile_shape, end - start)
        first = None
        found.append({**space, node.rank_variable: (start, step)})
        start += step
    return found


def volume(access: Any, space: Space) -> int:
    size = 1
    for _, form in access.projection:
        size *= 1 + sum(factor * (space[v][1] - 1) for v, factor in form.terms)
    return size


@st.composite
def cases(draw: Any, *, uneven: bool, array: bool = False) -> Case:
    text = draw(st.sampled_from(sorted(EINSUMS)))
    sizes = {rank: draw(st.integers(1, 8)) for rank in EINSUMS[text]}
    left = {rank.lower(): size for rank, size in sizes.items()}
    nodes: list[Any] = [Storage((tensor,), "DRAM") for tensor in "ABZ"]
    room = {"core": 4, "x": 8, "y": 8}

    def loop(dim: str | None) -> None:
        open_ = [name for name in sorted(left) if left[name] > 1]
        if not open_:
            return
        name = draw(st.sampled_from(open_))
        tiles = [t for t in range(1, left[name] + 1) if uneven or left[name] % t == 0]
        if dim is None:
            tile = draw(st.sampled_from(tiles))
            first = draw(st.sampled_from([None, *range(1, left[name] + 1)])) if uneven else None
            nodes.append(Temporal(name, tile, first))
            left[name] = max(tile, first or 0)
            return
        tiles = [t for t in tiles if -(-left[name] // t) <= room[dim]]
        tile = draw(st.sampled_from(tiles))
        room[dim] //= -(-left[name] // tile)
        nodes.append(Spatial(name, tile, dim, "CORE" if dim == "core" else "PE"))
        left[name] = tile

    for dim in draw(st.lists(st.sampled_from([None, *([] if array else ["core"])]), max_size=2)):
        loop(dim)
    for dim in draw(st.lists(st.sampled_from([None, "x", "x", "y"]), max_size=5)):
        loop(dim)
    kept = draw(st.lists(st.sampled_from("ABZ"), unique=True))
    nodes += [Storage((tensor,), "REG") for tensor in kept]
    nodes += [Temporal(name, 1) for name in draw(st.permutations(sorted(left))) if left[name] > 1]
    may = st.just("ABZ") if array else st.sampled_from(["ABZ", "AZ", "B", ""])
    return Case(
        text,
        sizes,
        [*nodes, ComputeNode("Z", "MAC")],
        draw(st.sampled_from(["mesh", "all_to_all"])),
        {"x": draw(may), "y": draw(may)},
        draw(st.sampled_from([2, 4])) if array else 1,
    )


def check(case: Case) -> None:
    sizes = ", ".join(f"{rank}: {size}" for rank, size in case.sizes.items())
    workload = load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 1}}\n"
        f'  einsums: ["{case.einsum}"]\n'
    )
    einsum = workload.einsum("Z")
    busiest, longest = (
        evaluate(load_arch(case.arch(measure)), workload, Mapping(tuple(case.nodes)))
        for measure in ("max_link_traffic", "max_hops")
    )
    links: Counter[Any] = Counter()
    farthest = 0
    for access in einsum.accesses:
        sender = Sender(case, access, dict(einsum.bounds), links)
        sender.run()
        assert busiest.actions[f"Z/NOC/{access.tensor}/hop"] == sender.hops, access.tensor
        farthest = max(farthest, sender.farthest)
    assert busiest.latency_by["Z/NOC"] == max(links.values(), default=0)
    assert longest.latency_by["Z/NOC"] == farthest


COMMON = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@COMMON
@given(cases(uneven=False))
def test_messages_of_even_tiles(case: Case) -> None:
    check(case)


@COMMON
@given(cases(uneven=True))
def test_messages_of_uneven_tiles(case: Case) -> None:
    check(case)


@COMMON
@given(cases(uneven=True, array=True))
def test_messages_from_a_distributed_memory(case: Case) -> None:
    """Groups of instances that are larger than what a place serves begin at places.

    One kind of mapping is known to differ: see the test below.
    """
    served, stride = 8 // case.places, 1
    for turns in reversed(lanes_of(case)):
        assume(stride < served or stride % served == 0)
        stride *= turns
    check(case)


@pytest.mark.xfail(strict=True, reason="the model counts 28 hops of Z, the walk 20")
def test_a_sum_over_the_outer_of_two_loops_along_a_distributed_memory() -> None:
    nodes: list[Any] = [Storage((tensor,), "DRAM") for tensor in "ABZ"]
    nodes += [Spatial("k", 1, "x", "PE"), Spatial("n", 1, "x", "PE"), ComputeNode("Z", "MAC")]
    sizes = {"M": 1, "N": 4, "K": 2}
    shared = {"x": "ABZ", "y": "ABZ"}
    check(Case("Z[m, n] = A[m, k] * B[k, n]", sizes, nodes, "mesh", shared, 4))


def lanes_of(case: Case) -> list[int]:
    """Return the turns of the loops along x, outermost first."""
    left = {rank.lower(): size for rank, size in case.sizes.items()}
    found = []
    for node in case.nodes:
        if isinstance(node, (Temporal, Spatial)):
            if isinstance(node, Spatial) and node.name == "x":
                found.append(-(-left[node.rank_variable] // node.tile_shape))
            first = getattr(node, "initial_tile_shape", None) or 0
            left[node.rank_variable] = max(node.tile_shape, first)
    return found
