"""Fused mappings against a slow walk: counts of every Einsum, tiles, and what lives at a time.

Random chains of two or three Einsums (matmul, element-wise, convolution) under shared loops, with
intermediates backed in DRAM or in a buffer below the shared loops, inputs staged above or inside
the branches. Three things are found by walking every iteration and compared with the model:

- reads, writes and steps of each Einsum, by the counter of tests/oracles/walk.py on its own path;
- the size of each tile: a lower holder keeps the smallest window in which every element stays from
  its first use to its last without being fetched twice (model.md §4.1);
- the most bits at a time: a tile lives from the first run of a branch that uses it to the last one,
  within one visit of the loops above it.

Also here: intermediates are complete before they are read, in every mapping that is accepted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pytest
import walk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Sequential, Storage, Temporal
from tilewright.mapper.workload.errors import MappingError
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

LEVELS = [
    walk.Level("DRAM"),
    walk.Level("BUF"),
    walk.Level("REG"),
    walk.Level("MAC", "Compute"),
]
ARCH = load_arch(walk.arch_text(LEVELS))
CHAINS = {
    "matmuls": (
        ["T1[m, a] = T0[m, z] * W0[z, a]", "T2[m, b] = T1[m, a] * W1[a, b]"],
        ["m", "a"],
    ),
    "three matmuls": (
        [
            "T1[m, a] = T0[m, z] * W0[z, a]",
            "T2[m, b] = T1[m, a] * W1[a, b]",
            "T3[m, c] = T2[m, b] * W2[b, c]",
        ],
        ["m"],
    ),
    "element-wise in between": (
        [
            "T1[m, a] = T0[m, z] * W0[z, a]",
            "T2[m, a] = T1[m, a] * S[a]",
            "T3[m, b] = T2[m, a] * T1[m, a] * W1[a, b]",
        ],
        ["m", "a"],
    ),
    "convolution, then matmul": (
        ["T1[m, p, a] = T0[m, H: p + r] * F[r, a]", "T2[m, p, b] = T1[m, p, a] * W1[a, b]"],
        ["m", "p"],
    ),
}


@dataclass
class Fused:
    workload: Workload
    shared: list[Any]  # nodes above the Sequential
    branches: dict[str, list[Any]]  # Einsum -> nodes of its branch

    @property
    def mapping(self) -> Mapping:
        ends = [(*nodes, ComputeNode(name, "MAC")) for name, nodes in self.branches.items()]
        return Mapping((*self.shared, Sequential(tuple(ends))))

    def path(self, name: str) -> list[Any]:
        """The nodes that one Einsum passes, only its own tensors held."""
        own = self.workload.einsum(name).tensors
        nodes = [*self.shared, *self.branches[name]]
        return [n for n in nodes if not isinstance(n, Storage) or n.tensors[0] in own]


@st.composite
def fused(draw: Any) -> Fused:
    texts, common = CHAINS[draw(st.sampled_from(sorted(CHAINS)))]
    sizes = {name: draw(st.sampled_from([2, 4, 6])) for name in "mzabcpr"}
    lines = "".join(f'  - "{text}"\n' for text in texts)
    ranks = ", ".join(f"{name.upper()}: {size}" for name, size in sizes.items())
    workload = load_workload(
        f"workload:\n  rank_sizes: {{{ranks}, H: {sizes['p'] + sizes['r'] - 1}}}\n"
        f"  bits_per_value: {{All: 1}}\n  einsums:\n{lines}"
    )
    inner = [t for e in workload.einsums for t in (a.tensor for a in e.outputs)][:-1]
    in_buffer = {t for t in inner if draw(st.booleans())}
    shared: list[Any] = [
        Storage((t,), "DRAM") for t in draw(st.permutations(workload.tensors)) if t not in in_buffer
    ]
    left = dict(sizes)
    held = set()
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            t = draw(st.sampled_from([t for t in workload.tensors if t not in in_buffer]))
            if t not in held and t not in inner:
                held.add(t)
                shared.append(Storage((t,), "BUF"))
        open_ = [name for name in common if left[name] > 1]
        if open_:
            shared.append(draw(loop(left, open_)))
    shared += [Storage((t,), "BUF") for t in draw(st.permutations(sorted(in_buffer)))]
    branches = {}
    for einsum in workload.einsums:
        branches[einsum.name] = draw(branch(dict(left), einsum, held | in_buffer))
    return Fused(workload, shared, branches)


@st.composite
def branch(draw: Any, left: dict[str, int], einsum: Any, buffered: set[str]) -> list[Any]:
    nodes: list[Any] = []
    for component in ("BUF", "REG"):
        for tensor in draw(st.permutations(einsum.tensors)):
            if draw(st.booleans()) and not (component == "BUF" and tensor in buffered):
                nodes.append(Storage((tensor,), component))
                open_ = [name for name in einsum.bounds if left[name] > 1]
                if open_ and draw(st.booleans()):
                    nodes.append(draw(loop(left, open_)))
    rest = [name for name in einsum.bounds if left[name] > 1]
    return nodes + [Temporal(name, 1) for name in draw(st.permutations(rest))]


@st.composite
def loop(draw: Any, left: dict[str, int], names: list[str]) -> Temporal:
    """A loop that turns at least twice."""
    name = draw(st.sampled_from(names))
    tile = draw(st.sampled_from([t for t in range(1, left[name]) if left[name] % t == 0]))
    left[name] = tile
    return Temporal(name, tile)


# ---- tiles


Space = dict[str, tuple[int, int]]


def visits(nodes: list[Any], space: Space) -> list[tuple[tuple[int, ...], Space]]:
    """All iterations of the loops among `nodes`, in order of time: (turn of each loop, ranges)."""
    found: list[tuple[tuple[int, ...], Space]] = [((), space)]
    for node in nodes:
        if isinstance(node, Temporal):
            found = [
                ((*turns, number), part)
                for turns, outer in found
                for number, part in enumerate(split(node, outer))
            ]
    return found


def split(node: Temporal, space: Space) -> list[Space]:
    start, size = space[node.rank_variable]
    return [
        {**space, node.rank_variable: (at, min(node.tile_shape, start + size - at))}
        for at in range(start, start + size, node.tile_shape)
    ]


def window(access: Any, above: list[Any], below: list[Any], bounds: Any) -> tuple[int, int]:
    """Return (loops of `below` above the window, values) of the smallest window that works.

    It works if, within one visit of the holder, no element leaves it and comes back. A window may
    slide along one loop of a convolution, not along one inside of another.
    """
    space = {name: (0, size) for name, size in bounds.items()}
    one_visit = visits(above, space)[0][1]
    best = (0, walk.size(walk.box(access, one_visit)))
    loops = [node for node in below if isinstance(node, Temporal)]
    for depth in range(1, len(loops) + 1):
        tiles = [walk.box(access, part) for _, part in visits(loops[:depth], one_visit)]
        if not stays(tiles):
            break
        size = max(map(walk.size, tiles))
        if size < best[1]:
            best = (depth, size)
        if access.relevance(loops[depth - 1].rank_variable) == "partial":
            break
    return best


def stays(tiles: list[Any]) -> bool:
    """Every element is in tiles that follow each other."""
    last: dict[tuple[int, ...], int] = {}
    for number, tile in enumerate(tiles):
        for element in walk.elements(tile):
            if last.get(element, number) < number - 1:
                return False
            last[element] = number
    return True


@dataclass(frozen=True)
class Tile:
    """A tile of `tensor` for `einsum`; `loops`: how many stand above it in the whole path."""

    einsum: str
    tensor: str
    component: str
    origin: Any
    loops: int
    values: int


def tiles_of(case: Fused, name: str) -> list[Tile]:
    """Walk down to the Storage nodes; what stands in a lower holder stops at the next holder.

    Holders of other tensors in the same run, without a loop between, do not stop it.
    """
    nodes, einsum = case.path(name), case.workload.einsum(name)
    found, seen = [], set()
    for place, node in enumerate(nodes):
        if not isinstance(node, Storage):
            continue
        (tensor,) = node.tensors
        above = sum(isinstance(n, Temporal) for n in nodes[:place])
        below = reach(nodes[place + 1 :], tensor) if tensor in seen else []
        depth, values = window(einsum.access(tensor), nodes[:place], below, einsum.bounds)
        seen.add(tensor)
        found.append(Tile(name, tensor, node.component, id(node), above + depth, values))
    return found


def reach(nodes: list[Any], tensor: str) -> list[Any]:
    loop_seen = False
    for number, node in enumerate(nodes):
        if isinstance(node, Temporal):
            loop_seen = True
        elif loop_seen or node.tensors[0] == tensor:
            return nodes[:number]
    return nodes


# ---- what lives at a time


def peaks(case: Fused) -> dict[str, int]:
    """Run the branches in order of time and add up what lives while each of them runs."""
    tiles = {name: tiles_of(case, name) for name in case.branches}
    depth = sum(isinstance(node, Temporal) for node in case.shared)
    space = {name: (0, size) for e in case.workload.einsums for name, size in e.bounds.items()}
    runs = [(turns, name) for turns, _ in visits(case.shared, space) for name in case.branches]
    used: dict[Any, list[int]] = defaultdict(list)  # tile -> runs that use it
    sizes: dict[Any, int] = defaultdict(int)
    for number, (turns, name) in enumerate(runs):
        for tile in tiles[name]:
            within = turns[: tile.loops] if tile.loops <= depth else (number,)
            key = (tile.component, tile.origin, tile.tensor, within)
            used[key].append(number)
            sizes[key] = max(sizes[key], tile.values)
    most: dict[str, int] = defaultdict(int)
    for number in range(len(runs)):
        live: dict[str, int] = defaultdict(int)
        for key, users in used.items():
            if users[0] <= number <= users[-1]:
                live[key[0]] += sizes[key]
        for component, values in live.items():
            most[component] = max(most[component], values)
    return dict(most)


def reads_complete(case: Fused) -> bool:
    """No Einsum reads an element that an earlier one still adds to."""
    whole = {n: (0, s) for e in case.workload.einsums for n, s in e.bounds.items()}
    read: set[Any] = set()
    for _, space in visits(case.shared, whole):
        for name in case.branches:
            for access in case.workload.einsum(name).accesses:
                touched = {(access.tensor, e) for e in walk.elements(walk.box(access, space))}
                if access.output and touched & read:
                    return False
                if not access.output:
                    read |= touched
    return True


COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


@settings(max_examples=10, **COMMON)
@given(fused())
def test_fused_mappings_equal_the_walk(case: Fused) -> None:
    score = evaluate(ARCH, case.workload, case.mapping)
    assert score.notes == ()
    assert reads_complete(case)
    for name in case.branches:
        nodes = [*case.path(name), ComputeNode(name, "MAC")]
        counter = walk.Counter(walk.Case("", {}, LEVELS, nodes), case.workload.einsum(name))
        counter.run()
        assert score.latency_by[f"{name}/MAC"] == counter.steps
        for node in case.path(name):
            if isinstance(node, Storage):
                key = (node.component, node.tensors[0])
                label = f"{name}/{node.component}/{node.tensors[0]}"
                assert score.actions[f"{label}/read"] == sum(counter.reads[key].values()), label
                assert score.actions[f"{label}/write"] == sum(counter.writes[key].values()), label
    for name in case.branches:
        for tile in tiles_of(case, name):
            label = f"{name}/{tile.component}/{tile.tensor}"
            assert score.memory_bits[label] == tile.values, label
    assert score.capacity == peaks(case)


@settings(max_examples=25, **COMMON)
@given(st.sampled_from(["m", "k", "mk", "km"]), st.integers(1, 4), st.integers(1, 4))
def test_sums_that_are_read_too_early_are_refused(order: str, m: int, k: int) -> None:
    workload = load_workload(
        "workload:\n  rank_sizes: {M: 4, K: 4}\n  bits_per_value: {All: 1}\n"
        '  einsums: ["Y[m] = A[m, k] * B[k]", "Z[m] = Y[m] * C[k]"]\n'
    )
    tiles = {"m": m, "k": k}
    shared: list[Any] = [Storage(workload.tensors, "DRAM")]
    shared += [Temporal(name, tiles[name]) for name in order]
    left = {name: tiles[name] if name in order else 4 for name in "mk"}
    inner = [Temporal(name, 1) for name in "km" if left[name] > 1]
    case = Fused(workload, shared, {"Y": inner, "Z": inner})
    text = "reads Y before Einsum Y has completed it"
    score = evaluate(ARCH, workload, case.mapping, allow_incomplete=True)
    assert (score.notes == ()) == reads_complete(case)
    assert all(text in note for note in score.notes)
    if score.notes:
        with pytest.raises(MappingError, match=text):
            evaluate(ARCH, workload, case.mapping)
