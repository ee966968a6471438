"""The running example of theory/fusion.md: two matrix multiplications on DRAM and a buffer."""

from __future__ import annotations

from math import inf

from fused_cases import two_memories, workload_of

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.fusion.boundary.exchanged_tensors import EinsumPath
from tilewright.mapper.fusion.bounds.cost_limit import NEVER, EnergyLatency
from tilewright.mapper.fusion.fused_plan import FusedPlan, plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.label_metrics import Objective
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.workload.workload import Workload

PAIR = ("Y[m, n] = A[m, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]")
WORKLOAD = workload_of(PAIR, {"m": 4, "k": 2, "n": 2, "p": 2})


def machine(buffer_bits: int) -> Arch:
    """Return DRAM (100 J per bit) over a buffer (1 J per bit) and a MAC."""
    return two_memories(buffer_bits, outer=100)


def paths_of(workload: Workload, arch: Arch) -> list[EinsumPath]:
    """Return the path to the first compute of each Einsum."""
    einsums = workload.einsums
    return [EinsumPath(einsum, flatten(arch, workload.scope(einsum))[0]) for einsum in einsums]


def plan(
    buffer_bits: int, workload: Workload = WORKLOAD, objective: Objective = "energy"
) -> FusedPlan:
    """Prepare the search."""
    request = request_of(machine(buffer_bits), workload, {})
    return plan_fused_search(request, objective, OBJECTIVE_VALUES[objective])


def graph_within(search: JoinSearch, limit: EnergyLatency = NEVER) -> CompatibilityGraph | None:
    """Return the graph of all mappings within a limit of energy (joule) and latency (second)."""
    ((_, graph),) = search.energy_slices((inf,), limit)
    return graph


def join_search(buffer_bits: int, budget: Budget | None = None) -> JoinSearch:
    """Return the search for the least energy."""
    return JoinSearch(plan(buffer_bits).problem, budget or Budget())
