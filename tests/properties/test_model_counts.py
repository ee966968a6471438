"""The analytical model against a slow counter that walks every iteration.

Covered: one Einsum (matmul, batched
matmul, element-wise, 1D convolution with stride and dilation, 2D convolution), two to four levels
with random bypass, Tolls in each direction, fanouts on containers, memories and computes with
random may_reuse, partial sums with and without first-write elision, loop orders, several loops per
variable, uneven tiles and first tiles of another size; loops of a fanout written above holders that
lie above it. Fused mappings, tiles and what lives at a time are in test_fused_walk.py, hops
and distributed memories in test_network_walk.py, copies in test_copy_walk.py.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from walk import Case, Counter, Level, arch_text

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)
from tilewright.mapper.workload.workload_loading import load_workload

EINSUMS = {
    "Z[m, n] = A[m, k] * B[k, n]": ("M", "N", "K"),
    "Z[b, m, n] = A[b, m, k] * B[k, n]": ("B", "M", "N", "K"),
    "Z[m, n] = A[m, n] * B[m]": ("M", "N"),
    "Z[m, p] = A[c, H: p + r] * B[c, m, r]": ("M", "P", "C", "R"),
    "Z[m, p] = A[c, H: 2*p + r] * B[c, m, r]": ("M", "P", "C", "R"),
    "Z[p] = A[H: p + 2*r] * B[r]": ("P", "R"),
    "Z[p, q] = A[H: p + r, W: q + s] * B[r, s]": ("P", "Q", "R", "S"),
}
PADDED = {
    "Z[m, p] = A[c, H: p + r - 1] * B[c, m, r]": ("M", "P", "C", "R"),
    "Z[p, q] = A[H: p + r - 1, W: q + s - 2] * B[r, s]": ("P", "Q", "R", "S"),
    "Z[m, p] = A[m, H: 2*p + r - 3] * B[m, r]": ("M", "P", "R"),
    "Z[p] = A[H: p + 2*r - 2] * B[r]": ("P", "R"),
    "Z[p] = A[H: 3 - p + r] * B[r]": ("P", "R"),
    "Z[m, p] = A[m, H: p - 2] * B[m]": ("M", "P"),
}


@st.composite
def level_lists(draw: Any) -> list[Level]:
    def dims(names: tuple[str, ...]) -> tuple[tuple[str, int, str], ...]:
        return tuple(
            (name, 6, draw(st.sampled_from(["ABZ", "", "A", "BZ", "Z"]))) for name in names
        )

    flags = st.booleans()
    levels = [Level("DRAM", skip=draw(flags))]
    if draw(flags):
        levels.append(Level("LINK", "Toll", draw(st.sampled_from(["up", "down", "up_and_down"]))))
    fanout = dims(("core",)) if draw(flags) else ()
    levels.append(Level("BUF", skip=draw(flags), fanout=fanout))
    if draw(flags):
        levels.append(Level("PE", "Container", fanout=dims(("x", "y"))))
    if draw(flags):
        levels.append(Level("REG", skip=draw(flags)))
    if draw(st.sampled_from([False, False, True])):
        levels.append(Level("ADC", "Toll", draw(st.sampled_from(["up", "down", "up_and_down"]))))
    fanout = dims(("lane",)) if draw(st.sampled_from([False, True])) else ()
    levels.append(Level("MAC", "Compute", skip=draw(flags), fanout=fanout))
    return levels


@st.composite
def cases(draw: Any, *, uneven: bool, einsums: dict[str, tuple[str, ...]] = EINSUMS) -> Case:
    text = draw(st.sampled_from(sorted(einsums)))
    sizes = {rank: draw(st.integers(1, 5 if uneven else 6)) for rank in einsums[text]}
    levels = draw(level_lists())
    left = {rank.lower(): bound for rank, bound in sizes.items()}
    nodes: list[Any] = []
    holders = [level for level in levels if level.tag in ("Memory", "Toll")]
    for level in levels:
        for name, fanout, _ in level.fanout:
            nodes += draw(loops(left, uneven=uneven, fanout=(level.name, name, fanout)))
        if level in holders:
            for tensor in draw(st.permutations("ABZ")):
                if level is levels[0] or draw(st.sampled_from([True, True, False])):
                    kind = TollNode if level.tag == "Toll" else Storage
                    nodes.append(kind((tensor,), level.name))
                    if level is not levels[0] and draw(st.sampled_from([True, False, False])):
                        nodes += draw(loops(left, uneven=uneven))
            nodes += draw(loops(left, uneven=uneven))
    rest = [name for name in left if left[name] > 1]
    last = [Temporal(name, 1) for name in draw(st.permutations(rest))]
    where = next(
        (
            n
            for n, node in enumerate(nodes)
            if isinstance(node, Spatial) and node.component == "MAC"
        ),
        len(nodes),
    )
    nodes = nodes[:where] + nodes[where:] + last
    nodes = [*nodes, ComputeNode("Z", "MAC")]
    if einsums is PADDED:  # ranks of their own size, which indices leave at either end
        padded = {rank: draw(st.integers(1, 7)) for rank in ("H", "W") if f"{rank}:" in text}
        return Case(text, {**sizes, **padded}, levels, nodes)
    return Case(text, sizes, levels, nodes)


@st.composite
def loops(draw: Any, left: dict[str, int], *, uneven: bool, fanout: Any = None) -> list[Any]:
    found: list[Any] = []
    room = fanout[2] if fanout else 0
    for _ in range(draw(st.integers(0, 2))):
        open_ = [name for name in sorted(left) if left[name] > 1]
        if not open_:
            break
        name = draw(st.sampled_from(open_))
        outer = left[name]
        sizes = [t for t in range(1, outer + 1) if uneven or outer % t == 0]
        if fanout:
            sizes = [t for t in sizes if -(-outer // t) <= room]
        tile = draw(st.sampled_from(sizes))
        if fanout:
            room //= -(-outer // tile)
            found.append(Spatial(name, tile, fanout[1], fanout[0]))
            left[name] = tile
            continue
        first = draw(st.sampled_from([None, None, *range(1, outer + 1)])) if uneven else None
        found.append(Temporal(name, tile, first))
        left[name] = max(tile, first or 0)
    return found


def check(case: Case, mapping: Mapping | None = None) -> None:
    mapping = mapping or Mapping(tuple(case.nodes))
    workload = load_workload(
        "workload:\n"
        f"  rank_sizes: {{{', '.join(f'{rank}: {bound}' for rank, bound in case.sizes.items())}}}\n"
        "  bits_per_value: {All: 1}\n"
        + ("  pad: {H: 40, W: 40}\n" if {"H", "W"} & set(case.sizes) else "")
        + f'  einsums: ["{case.einsum}"]\n'
    )
    arch = load_arch(arch_text(case.levels))
    score = evaluate(arch, workload, mapping)
    counter = Counter(case, workload.einsum("Z"))
    counter.run()
    assert score.actions["Z/MAC/None/compute"] == counter.operations
    assert score.latency_by["Z/MAC"] == counter.steps
    held = {
        (node.component, t)
        for node in case.nodes
        if isinstance(node, Storage)
        for t in node.tensors
    }
    units: dict[str, int] = defaultdict(int)
    for component, tensor in sorted(held):
        for action, counts in (("read", counter.reads), ("write", counter.writes)):
            mine = counts[component, tensor]
            key = f"Z/{component}/{tensor}/{action}"
            assert score.actions[key] == sum(mine.values()), key
            units[component] += counter.busiest(action, component, tensor)
    for component, calls in units.items():
        assert score.latency_by[f"Z/{component}"] == calls, component


COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


@settings(max_examples=12, **COMMON)
@given(cases(uneven=False))
def test_counts_equal_those_of_the_walk(case: Case) -> None:
    check(case)


@settings(max_examples=12, **COMMON)
@given(cases(uneven=True))
def test_counts_of_uneven_tiles_equal_those_of_the_walk(case: Case) -> None:
    check(case)


@settings(max_examples=20, **COMMON)
@given(cases(uneven=False, einsums=PADDED))
def test_zeros_of_padded_ranks_are_not_counted(case: Case) -> None:
    check(case)


@settings(max_examples=20, **COMMON)
@given(cases(uneven=True, einsums=PADDED))
def test_zeros_of_padded_ranks_are_not_counted_with_uneven_tiles(case: Case) -> None:
    check(case)


@settings(max_examples=12, **COMMON)
@given(cases(uneven=False), st.randoms(use_true_random=False))
def test_a_spatial_loop_belongs_to_its_fanout(case: Case, random: Any) -> None:
    """Written above holders that lie above its fanout, a loop counts as if it stood below them."""
    order = [level.name for level in case.levels]
    nodes = list(case.nodes)
    for place in [n for n, node in enumerate(nodes) if isinstance(node, Spatial)]:
        at = place
        while (
            at > 0
            and isinstance(above := nodes[at - 1], Storage)
            and order.index(above.component) < order.index(nodes[at].component)
            and random.random() < 0.8
        ):
            nodes[at - 1], nodes[at] = nodes[at], nodes[at - 1]
            at -= 1
    check(case, Mapping(tuple(nodes)))
