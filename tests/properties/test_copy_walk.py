"""Copy Einsums against a walk of every element that is copied.

Each element is read from the innermost holder of the source and written to the innermost holder of
the destination; tiles come down to the source's lower holders and go up from the destination's.
What the source holds in or below the destination's innermost memory is the destination's own place;
a source that is only below it is read where it lies (docs/conventions.md §5). Covered: three
memories with random holders of both tensors, loops in between, lanes, uneven tiles.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.workload.workload_loading import load_workload

BOTH = "[{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]"
MEMORIES = ("DRAM", "BUF", "REG")
ARCH = load_arch(f"""
arch:
  nodes:
  - !Memory {{name: DRAM, size: inf, area: 0, leak_power: 0, actions: {BOTH}}}
  - !Memory {{name: BUF, size: inf, area: 0, leak_power: 0, actions: {BOTH}}}
  - !Container {{name: PE, spatial: [{{name: x, fanout: 4}}]}}
  - !Memory {{name: REG, size: inf, area: 0, leak_power: 0, actions: {BOTH}}}
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{{name: compute, energy: 1, throughput: 1}}]
""")
Counts = Counter[tuple[str, str, str]]


def walk(nodes: list[Any], space: dict[str, int], held: dict[str, str], counts: Counts) -> None:
    """Walk the nodes with tiles of the sizes in `space`; `held`: innermost holders so far."""
    if not nodes:
        if "A" in held:
            counts[held["A"], "A", "read"] += 1
            counts[held["Y"], "Y", "write"] += 1
        return
    node, below = nodes[0], nodes[1:]
    if isinstance(node, Storage):
        tensor, size = node.tensors[0], space["m"] * space["k"]
        above = held.get(tensor)
        if above is not None and tensor == "A":
            counts[above, "A", "read"] += size
            counts[node.component, "A", "write"] += size
        walk(below, space, {**held, tensor: node.component}, counts)
        if above is not None and tensor == "Y":
            counts[node.component, "Y", "read"] += size
            counts[above, "Y", "write"] += size
        return
    left = space[node.rank_variable]
    while left > 0:
        size = min(node.tile_shape, left)
        walk(below, {**space, node.rank_variable: size}, held, counts)
        left -= size


@st.composite
def mappings(draw: Any) -> tuple[dict[str, int], list[Any]]:
    sizes = {"m": draw(st.integers(1, 6)), "k": draw(st.integers(1, 5))}
    left = dict(sizes)
    nodes: list[Any] = []
    top = {tensor: draw(st.sampled_from(MEMORIES[:2])) for tensor in "AY"}

    def loops(dim: str | None = None) -> None:
        for name in draw(st.lists(st.sampled_from("mk"), max_size=2, unique=True)):
            least = -(-left[name] // (4 if dim else left[name]))
            tile = draw(st.integers(least, left[name]))
            if dim is None:
                nodes.append(Temporal(name, tile))
            else:
                nodes.append(Spatial(name, tile, dim, "PE"))
            left[name] = tile
            if dim is not None:
                return

    for memory in MEMORIES:
        if memory == "REG":
            loops("x")
        for tensor in draw(st.permutations("AY")):
            below = MEMORIES.index(memory) > MEMORIES.index(top[tensor])
            if memory == top[tensor] or (below and draw(st.booleans())):
                nodes.append(Storage((tensor,), memory))
        loops()
    return sizes, [*nodes, *(Temporal(name, 1) for name in "mk" if left[name] > 1)]


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(mappings())
def test_copies_move_what_the_walk_moves(drawn: tuple[dict[str, int], list[Any]]) -> None:
    sizes, nodes = drawn
    workload = load_workload(
        f"workload:\n  rank_sizes: {{M: {sizes['m']}, K: {sizes['k']}}}\n"
        "  bits_per_value: {All: 1}\n"
        '  einsums: [{einsum: "Y[m, k] = A[m, k]", is_copy_operation: true}]\n'
    )
    mapping = Mapping((*nodes, ComputeNode("Y", "MAC")))
    score = evaluate(ARCH, workload, mapping, allow_incomplete=True)  # Y may be lost tile by tile
    places = [n.component for n in nodes if isinstance(n, Storage) and n.tensors == ("Y",)]
    innermost = max(map(MEMORIES.index, places))
    source = [n for n in nodes if isinstance(n, Storage) and n.tensors == ("A",)]
    above = [n for n in source if MEMORIES.index(n.component) < innermost]
    if MEMORIES.index(source[0].component) > innermost:
        above = source[:1]
    own = [n for n in nodes if n not in source or n in above]
    counts: Counts = Counter()
    walk(own, dict(sizes), {}, counts)
    moved = {key: count for key, count in score.actions.items() if count}
    assert moved == {f"Y/{c}/{t}/{a}": n for (c, t, a), n in counts.items() if n}
    assert score.latency_by["Y/MAC"] == 0
