"""Cascades of any sizes whose tensors stay in the elements: what is added up is as in numpy."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from cascades import cascade_arch
from explore import at_night, enough

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.exchanges.padding_fills import padding_fills
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.mapping.mapping import Mapping, Sequential
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.exchange import intermediates
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.isa.machine_errors import ProgramError

ATTENTION = (
    "S[m, p] = Q[m, e] * K[p, e]",
    "X[m] = max(S[m, p])",
    "N[m, p] = exp(S[m, p] - X[m])",
    "D[m] = N[m, p]",
    "O[m, f] = N[m, p] * V[p, f]",
)
CHAINS = (
    ATTENTION,
    ("N[m, p] = exp(Q[m, p])", "D[] = N[m, p]"),
    ("N[m, p] = Q[m, p] - 1", "Z[m] = max(N[m, p])", "Y[] = max(Z[m])"),
    ("N[m, p] = Q[m, e] * K[p, e]", "Z[f, m] = V[f, p] * N[m, p]"),
)
TYPES = ("32", "16", "i32", "i16")


def drawn_workload(rng: random.Random) -> Workload:
    """Draw a cascade with sizes of 2 to 11, of which few are divided by the elements."""
    einsums = rng.choice(CHAINS)
    kind = rng.choice(["32", "16"] if any("exp" in text for text in einsums) else TYPES)
    used = {name for text in einsums for name in "mpef" if re.search(rf"\b{name}\b", text)}
    shapes = ", ".join(f"{name.upper()}: {rng.randint(2, 11)}" for name in sorted(used))
    lines = [
        "workload:",
        f"  rank_sizes: {{{shapes}}}",
        f"  bits_per_value: {{All: {kind.removeprefix('i')}}}",
        *(["  integers: All"] if kind.startswith("i") else []),
        "  einsums:",
        *(f'  - "{text}"' for text in einsums),
    ]
    return load_workload(load_document("drawn.yaml", text="\n".join(lines) + "\n"))


def drawn_mapping(rng: random.Random, workload: Workload, arch: Arch) -> Mapping:
    """Draw a mapping of each Einsum, with all intermediates in the elements."""
    staying = frozenset(intermediates(workload))
    branches = []
    for einsum in workload.einsums:
        grid = grid_of(grid_path(arch, workload, einsum))
        space = GridMapspace(grid, einsum, staying=staying & set(einsum.tensors), is_wide=True)
        family = rng.choice(list(space.families()))
        branches.append(space.mapping_of(rng.choice(space.members(family))).nodes)
    return Mapping((Sequential(tuple(branches)),))


@pytest.mark.parametrize("block", [0, *at_night(*range(1, 12))])
def test_random_mappings_of_any_sizes_equal_numpy(block: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(60 * block, 60 * block + 60):
        rng = random.Random(seed)
        arch = cascade_arch(*rng.choice([(2, 2), (4, 4), (3, 2), (5, 1), (1, 4)]))
        workload = drawn_workload(rng)
        try:
            execution = execute(arch, workload, drawn_mapping(rng, workload, arch))
        except (InfeasibleMapping, ProgramError):
            continue
        for run in execution.einsums:
            assert run.counts == run.predicted
            assert run.lower_bound_cycles <= run.cycles
            seen["filled" if padding_fills(run.plan.read) else "plain"] += 1
    assert enough(seen["filled"], 20)
