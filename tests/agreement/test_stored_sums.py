"""Two phases whose first group stores its sum, or sends it while it comes in: the faster one."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from explore import at_night
from grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid import partial_sums, reductions
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import (
    EinsumExecution,
    ExecutionSettings,
    execute_einsum,
)
from tilewright.simulator.execution.mapped_workload import grid_path

Size = tuple[int, int, int]
"""Columns, rows and words of a tile."""


def run(size: Size, scheme: str, machine: str) -> EinsumExecution:
    """Execute a sum over all elements; it is compared with numpy, its counts with the model's."""
    columns, rows, words = size
    text = (
        f"workload:\n  rank_sizes: {{K: {columns}, J: {rows}, N: {words}}}\n"
        "  bits_per_value: {All: 32}\n  persistent_tensors: A\n"
        '  einsums: ["Z[n] = A[j, k, n]"]\n'
    )
    workload = load_workload(load_document("sum.yaml", text=text))
    arch = load_arch(HARDWARE).with_values({"variables.GridX": columns, "variables.GridY": rows})
    nodes: list[Node] = [
        Storage(("Z",), "Host"),
        Spatial("k", 1, "X", "Grid"),
        Spatial("j", 1, "Y", "Grid"),
        Storage(("A",), "SRAM"),
        Storage(("Z",), "SRAM", reduction=scheme),
        *([Temporal("n", 1)] if words > 1 else []),
        ComputeNode("Z", "Engine"),
    ]
    flat = grid_path(arch, workload, workload.einsums[0])
    read = space_time(flat, workload.einsums[0], Mapping(tuple(nodes)))
    return execute_einsum(read, ExecutionSettings(machine=machine))


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Callable[[Size, str, str], tuple[int, int]]:
    """A function that returns the cycles as chosen, and those of the other way."""

    def cycles(size: Size, scheme: str, machine: str) -> tuple[int, int]:
        found = []
        chosen = reductions.sends_later
        for rule in (chosen, lambda *sizes: not chosen(*sizes)):
            for chains in (reductions.line_chains, partial_sums.line_chains):
                chains.cache_clear()
            with monkeypatch.context() as patched:
                patched.setattr(reductions, "sends_later", rule)
                execution = run(size, scheme, machine)
            assert execution.lower_bound_cycles <= execution.cycles, (size, scheme, machine)
            found.append(execution.cycles)
        reductions.line_chains.cache_clear()
        return found[0], found[1]

    return cycles


def drawn(seed: int) -> tuple[Size, str]:
    rng = random.Random(seed)
    columns, rows = rng.choice([(rng.randint(5, 70), 1), (rng.randint(3, 12), rng.randint(3, 12))])
    group = rng.randint(2, max(2, max(columns, rows) // 2))
    return (columns, rows, rng.choice([1, 6, 15, 40, 100, 300])), f"two_phase({group})"


@pytest.mark.parametrize("seed", [*range(8), *at_night(*range(8, 24))])
def test_the_faster_way_is_chosen(
    seed: int, both_ways: Callable[[Size, str, str], tuple[int, int]]
) -> None:
    """On the WSE-2, whose numbers the choice has, but for a few cycles."""
    size, scheme = drawn(seed)
    chosen, other = both_ways(size, scheme, "wse2-sdk-sim")
    assert chosen <= other + 6


@pytest.mark.parametrize("seed", [*range(100, 104), *at_night(*range(104, 108))])
def test_another_machine_loses_little(
    seed: int, both_ways: Callable[[Size, str, str], tuple[int, int]]
) -> None:
    size, scheme = drawn(seed)
    chosen, other = both_ways(size, scheme, "wse3-sdk-sim")
    assert chosen <= 1.15 * other


def test_a_stored_sum_is_added_and_then_sent() -> None:
    """The first group's last element has two operations; the second's has two sums to add."""
    execution = run((8, 1, 40), "two_phase(4)", "wse2-sdk-sim")
    assert execution.plan.roles[execution.plan.placement[0, 3]].stores
    memory = [k for k in execution.counts if k.endswith("SRAM/Z/write")]
    # a copy of 40 words in each element, the last element's first sum and the stored one
    assert execution.counts[memory[0]] == 8 * 40 + 40 + 40
