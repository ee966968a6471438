"""Copies that repeat values or slide over them: their search against all mappings."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from random import Random

import pytest

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping import Mapping, Storage, Toll
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.copies.copy_einsums import CopyMappings, CopySearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.methods.exhaustive import ExhaustiveSearch, best_scored
from tilewright.mapper.searches.verify import Verifier
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload

COPIES = (
    ("Y[x, g] = Z[m, g]", "{M: 2, X: 4, G: 3}"),
    ("Y[x, t, g] = Z[m, g]", "{M: 2, X: 3, T: 2, G: 2}"),
    ("Y[g] = Z[m, g]", "{M: 4, G: 6}"),
    ("Y[p, r] = Z[H: p + r]", "{P: 4, R: 3}"),
    ("Y[p, r] = Z[H: 3*p + r]", "{P: 4, R: 2}"),
)


def mapspace(seed: int) -> Mapspace:
    """Two or three memories, some small, lanes above some, costs of all kinds."""
    draw = Random(seed)
    nodes = ["arch:", "  nodes:"]
    for number, name in enumerate(("DRAM", "BUF", "REG")[: draw.choice((2, 3, 3))]):
        if number and draw.random() < 0.5:
            may = draw.choice(("All", "Nothing", "Inputs"))
            lanes = f"{{name: d{number}, fanout: {draw.choice((2, 4))}, may_reuse: {may}}}"
            nodes.append(f"  - !Container {{name: C{number}, spatial: [{lanes}]}}")
        size = draw.choice((8, 16, 40, 1000)) if number else "inf"
        must = draw.choice(("Nothing", "Nothing", "Inputs", "All")) if number else "~Intermediates"
        keep = f"{{keep: {must}, may_keep: All}}"
        costs = [draw.randint(1, 9) * 10 ** (1 - number) for _ in range(2)]
        actions = ", ".join(
            f"{{name: {action}, energy: {cost}, throughput: {draw.choice((1, 4))}}}"
            for action, cost in zip(("read", "write"), costs, strict=True)
        )
        leak = draw.choice((0, 0, 1))
        nodes.append(
            f"  - !Memory {{name: {name}, size: {size}, area: 0, leak_power: {leak}, "
            f"tensors: {keep}, actions: [{actions}]}}"
        )
    nodes.append(
        "  - !Compute {name: MAC, area: 0, leak_power: 0, "
        "actions: [{name: compute, energy: 1, throughput: 1}]}"
    )
    einsum, sizes = draw.choice(COPIES)
    workload = load_workload(
        f"workload:\n  rank_sizes: {sizes}\n  bits_per_value: {{All: {draw.choice((1, 2))}}}\n"
        f'  einsums: [{{einsum: "{einsum}", is_copy_operation: true}}]\n'
    )
    (copy,) = workload.einsums
    (flat,) = flatten(load_arch("\n".join(nodes) + "\n"), workload.scope(copy))
    return Mapspace(copy, flat, draw.choice(("default", "accelforge")))


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_as_all_mappings(first: int) -> None:
    """The bound is never above the least, and what counts as proven is the least."""
    proven = 0
    for seed in range(first, first + 20):
        space = mapspace(seed)
        for goal in (Goal("energy"), Goal("latency"), Goal("edp")):
            least = ExhaustiveSearch().find(space, goal, None).best
            found = CopySearch().find(space, goal, None)
            assert (least is None) == (found.best is None), seed
            if least is None or found.best is None:
                continue
            value = least.value(goal)
            assert found.best.value(goal) == pytest.approx(value, rel=1e-9), (seed, goal)
            copies = CopyMappings(space)
            few, _, _ = best_scored(copies.representatives, space, goal)
            if few is not None:
                bound = copies.lower_bound(few, goal)
                assert bound <= value * (1 + 1e-9), (seed, goal)
                proven += few.value(goal) <= bound * (1 + 1e-9)
    assert proven > 10


@pytest.mark.parametrize("first", range(0, 30, 15))
def test_outermost_memories(first: int) -> None:
    """The bound of the mappings that keep a tensor in some memory first is below all of these."""
    tight = 0
    for seed in range(first, first + 15):
        space = mapspace(seed)
        judge = Verifier(space)
        scores: dict[tuple[str, str], list[Score]] = {}
        for mapping in space:
            with suppress(InfeasibleMapping):
                score = judge.score(mapping)
                for place in _outermost(mapping).items():
                    scores.setdefault(place, []).append(score)
        for (tensor, memory), several in scores.items():
            energy, latency = CopyMappings(space, {tensor: memory}).lower_bounds(inf, inf)
            least = min(one.energy for one in several)
            assert energy <= least * (1 + 1e-9), (seed, tensor, memory)
            assert latency <= min(one.latency for one in several) * (1 + 1e-9), (seed, tensor)
            tight += energy >= least * (1 - 1e-9)
    assert tight > 10


def _outermost(mapping: Mapping) -> dict[str, str]:
    """Return the first memory of each tensor."""
    found: dict[str, str] = {}
    for node in mapping.nodes:
        if isinstance(node, Storage) and not isinstance(node, Toll):
            found = dict.fromkeys(node.tensors, node.component) | found
    return found
