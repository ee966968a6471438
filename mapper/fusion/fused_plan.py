"""Prepare a fused search: what Einsums exchange, in which memories, and the pmappings to join.

The plan fixes what a search may not change: which memories Einsums exchange tensors in, which
tensors, which usages count, and the mapspaces of each Einsum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories, exchange_memories
from tilewright.mapper.fusion.boundary.exchanged_tensors import (
    EinsumPath,
    ExchangedTensors,
    exchanged_tensors_of,
)
from tilewright.mapper.fusion.boundary.tensor_views import bounded_widths_in, varied_widths_in
from tilewright.mapper.fusion.boundary.usage_peaks import CountedUsage, counted_usage
from tilewright.mapper.fusion.copies.fused_copies import CopySolver
from tilewright.mapper.fusion.fused_einsum import EinsumPreparation, refuse_unkept_tensors
from tilewright.mapper.fusion.fused_problem import EinsumEntry, FusedProblem, ValueFunction
from tilewright.mapper.fusion.pmappings.pmapping_cache import PmappingCache
from tilewright.mapper.fusion.pmappings.shared.shared_tolls import tolls_in
from tilewright.mapper.fusion.requests.memory_sizes import refuse_unequal_sizes
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.searches.request import Request
from tilewright.mapper.workload.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class FusedPlan:
    """Hold what a fused search works on, in which Einsums share loops and exchange tensors on chip.

    `problem`: the Einsums with their mapspaces, what they may exchange, and the objective.
    `memories`: the memories in which tensors may be exchanged. `seed`: the same plan without usages
    of memories, if the objective depends on them: the search starts from its optimum (None: not
    needed). `cache`: compiled mapspaces that several searches of this workload share.
    """

    problem: FusedProblem
    memories: ExchangeMemories
    seed: FusedPlan | None = None
    cache: PmappingCache = field(default_factory=PmappingCache)


class _PlannedExchange(NamedTuple):
    """In which memories Einsums exchange which tensors (`exchanged`), and whose usage counts."""

    memories: ExchangeMemories
    exchanged: ExchangedTensors
    usage: CountedUsage


def plan_fused_search(
    request: Request, objective: str, value: ValueFunction, memories: Sequence[str] = ()
) -> FusedPlan:
    """Prepare a search for the fused mapping with the least value of an objective.

    `objective`: its name or text. `value`: its function of energy in joule, latency in second, and
    the usage in bits of each of `memories` (the most bits in it at a time). The plan fixes which
    tensors Einsums may exchange in which memories. Where usages cannot be counted with tensors
    exchanged below the second memory, these stay in the second one. Raises TilewrightError if no
    compute is enabled for an Einsum; UnsupportedFeature for what the search cannot model, such as
    Einsums that see different outermost memories, or a usage that would be known to a bound only;
    InfeasibleMapping if a copy Einsum fits nowhere; OutOfBudget when the request is to stop.
    """
    paths = _paths_of(request)
    refuse_unequal_sizes(request, memories)
    exchange = _exchange(request, paths, memories)
    entries = _entries(request, paths, exchange)
    problem = FusedProblem(
        exchange.exchanged,
        tuple(entries),
        exchange.memories.capacities,
        objective,
        value,
        loops_per_variable=request.options.max_fused_loops_per_rank_variable,
        usage=exchange.usage,
        outermost_capacity=exchange.memories.outermost_capacity,
    )
    if problem.outermost_capacity is not None:
        refuse_unkept_tensors(exchange.memories.outermost, problem.solved)
    return FusedPlan(problem, exchange.memories)


def _paths_of(request: Request) -> list[list[EinsumPath]]:
    """Return, per Einsum, the paths to its computes; TilewrightError if it has none enabled."""
    paths: list[list[EinsumPath]] = []
    for einsum in request.workload.einsums:
        request.budget.check_stop()
        paths.append([EinsumPath(einsum, flat) for flat in request.flat_archs(einsum)])
        if not paths[-1]:
            raise TilewrightError(
                f"no Compute of the architecture is enabled for {einsum.name}",
                instead="look at the `enabled` of its Computes",
            )
    return paths


def _entries(
    request: Request, paths: Sequence[Sequence[EinsumPath]], exchange: _PlannedExchange
) -> list[EinsumEntry]:
    """Return, per Einsum, a table of pmappings if it is a copy, else its mapspaces by compute."""
    memories, exchanged, usage = exchange
    crowded = memories.crowded | frozenset(usage.names)
    copies = CopySolver(request, memories, exchanged, usage)
    preparation = EinsumPreparation(exchanged, request.options.conventions, crowded)
    entries: list[EinsumEntry] = []
    for several in paths:
        request.budget.check_stop()
        if several[0].einsum.is_copy:
            entries.append(copies.table(several[0].einsum))
            continue
        entries.append(
            tuple(preparation.fused_einsum(path, number) for number, path in enumerate(several))
        )
    return entries


def _exchange(
    request: Request, paths: Sequence[Sequence[EinsumPath]], counted: Sequence[str]
) -> _PlannedExchange:
    """Plan the exchange of tensors in the second memory and below.

    `counted`: memories whose usage counts. Only in the second memory if the usages cannot be
    counted exactly with tensors further down.
    """
    conventions = conventions_called(request.options.conventions)
    every_path = list(chain.from_iterable(paths))
    # accelforge may count fewer bits than this search where holders stand with no loop between
    deeper = not counted or conventions.adjacent_holders_shrink
    try:
        return _exchange_in(request, every_path, counted, deeper)
    except UnsupportedFeature:
        if not counted:
            raise
        return _exchange_in(request, every_path, counted, deeper=False)


def _exchange_in(
    request: Request, paths: Sequence[EinsumPath], counted: Sequence[str], deeper: bool
) -> _PlannedExchange:
    """Plan the exchange of tensors in the second memory; `deeper`: also in memories below it.

    Raises UnsupportedFeature where the usage of the `counted` memories would not be exact.
    """
    conventions = conventions_called(request.options.conventions)
    memories = exchange_memories(paths, deeper)
    exchanged = exchanged_tensors_of(
        request.workload,
        conventions.shared_tile_counts_once,
        conventions.equal_instances_exchange,
        memories.memories,
        conventions.complete_reads,
    )
    names = [n for n in memories.memories if n in memories.crowded or n in counted]
    exchanged = replace(
        exchanged,
        varied_widths=varied_widths_in(paths, names, exchanged),
        bounded_widths=bounded_widths_in(paths, names, exchanged),
        tolls=tolls_in(flat for _, flat in paths),
        memories_of=memories.memories_of,
    )
    return _PlannedExchange(memories, exchanged, counted_usage(paths, counted, memories, exchanged))
