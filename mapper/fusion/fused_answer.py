"""Build the answer of a fused search: the mapping of the best label, and the restrictions.

A restriction names mappings that the search leaves out. The certificate of an optimum holds for all
other mappings (docs of restrictions: searches/restrictions.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.fused_mapping import Branch, TreeBuilder, branch_of
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping
from tilewright.mapper.fusion.join.join_deepening import JoinResult
from tilewright.mapper.fusion.pmappings.fused_templates import reorderable_memories
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.restrictions import (
    ADJACENT_HOLDERS_ORDER,
    COPIES_PRIVATE_BELOW_LOOPS,
    COPIES_SHARE_NO_LANES,
    COPIES_SHARE_NO_LOOPS,
    COPY_INPUTS_RESERVED,
    EINSUM_ORDER_FIXED,
    EXCHANGE_THROUGH_OUTERMOST,
    EXCHANGED_IN_OUTERMOST,
    FUSION_THROUGH,
    LARGEST_TILE_RESERVED,
    NO_HOLDER_BELOW_DEEPER_LANES,
    NOT_EXCHANGED_IN,
    ORDER_ABOVE_EXCHANGED,
    SHARED_LOOP_VARIABLES,
    SHARED_LOOPS_ABOVE_EXCHANGED,
    SHARED_LOOPS_PER_VARIABLE,
    SHARED_SPATIAL_LOOPS,
    WIDEST_TILE_RESERVED,
    Restriction,
    Restrictions,
)
from tilewright.mapper.searches.scope import perfect_factors, spatial_restrictions


def mapping_of_joined(joined: JoinedMapping, boundaries: ExchangedTensors) -> LoopNest:
    """Build the mapping of the workload that the search found.

    `joined`: the chosen pmapping (mapping of one Einsum within the whole) of every Einsum, with the
    tables. `boundaries`: says which Einsums use which tensor, so that a tensor on chip stands above
    the point where its users part. The result names loops and tensors as the Einsums of the
    workload do.
    """
    branches: list[Branch] = []
    for chosen, step in zip(joined.label.pmappings, joined.steps, strict=True):
        table = step.tables[chosen.group.table]
        if isinstance(table, CopyTable):
            branches.append(table.branch(chosen))
        else:
            branches.append(branch_of(table, chosen))
    shared = [chosen.shared_loops for chosen in joined.label.pmappings[:-1]]
    return TreeBuilder(branches, shared, boundaries.users).mapping()


def tensors_on_chip(result: JoinResult) -> tuple[str, ...]:
    """Return the tensors that the best mapping keeps on chip between Einsums.

    In the order in which Einsums first use them; empty if the search found no mapping.
    """
    places = () if result.mapping is None else result.mapping.places_on_chip
    return tuple(dict.fromkeys(place.tensor for place in places))


def _has_lanes_above(space: Mapspace, inner: str) -> bool:
    components = space.problem.components
    names = [component.name for component in components]
    if inner not in names:  # a compute right below the outermost memory
        return False
    return any(c.own_fanout > 1 for c in components[: names.index(inner) + 1])


def fused_restrictions(problem: FusedProblem, memories: ExchangeMemories) -> Restrictions:
    """Return the restrictions of a fused search: which mappings it leaves out.

    A certificate of an optimum holds for all mappings but these. They follow from what is searched:
    the mapspaces, which tensors may stay in which memory, which Einsums are copies, and where
    several Einsums reserve more for a tensor than each needs. The order is that of printing.
    """
    exchanged = problem.exchanged
    spaces = [fused.space for fused in problem.solved]
    below_lanes = [m for m in memories.memories if m and _any_lanes_above(spaces, m)]
    second = str(memories.second) if memories.second in below_lanes else ""
    return (
        *perfect_factors(exchanged.workload.einsums),
        *spatial_restrictions(spaces),
        EINSUM_ORDER_FIXED(),
        *_exchange_restrictions(problem, memories, below_lanes),
        *_order_restrictions(spaces),
        *_copy_restrictions(problem, second),
        *_reservation_restrictions(exchanged),
    )


def _any_lanes_above(spaces: Sequence[Mapspace], memory: str) -> bool:
    return any(_has_lanes_above(space, memory) for space in spaces)


def _exchange_restrictions(
    problem: FusedProblem, memories: ExchangeMemories, below_lanes: Sequence[str]
) -> Iterator[Restriction]:
    """Yield the restrictions about the memories that tensors are exchanged in and the shared loops.

    `below_lanes`: exchange memories with a fanout above them, whose lanes Einsums may share.
    """
    exchanged, outermost = problem.exchanged, str(memories.outermost)
    tensors = _in_order(exchanged.workload.tensors, exchanged.exchangeable)
    if memories.second is None or not tensors:
        yield EXCHANGE_THROUGH_OUTERMOST(memory=outermost)
        return
    memories_of = {tensor: _memories_of(exchanged, tensor) for tensor in tensors}
    inner = _in_order(memories.memories, frozenset[str]().union(*memories_of.values()))
    yield FUSION_THROUGH(memories=inner)
    yield SHARED_LOOPS_PER_VARIABLE(number=problem.loops_per_variable)
    yield SHARED_LOOP_VARIABLES()
    yield SHARED_LOOPS_ABOVE_EXCHANGED()
    if spatial := _in_order(below_lanes, inner):
        yield SHARED_SPATIAL_LOOPS(memories=spatial)
    yield from _memory_restrictions(memories_of, inner)
    if len(inner) > 1 and not exchanged.shares_tiles:
        yield ADJACENT_HOLDERS_ORDER()
    if outermost_only := _in_order(exchanged.workload.tensors, exchanged.outermost_only):
        yield EXCHANGED_IN_OUTERMOST(tensors=outermost_only, memory=outermost)


def _in_order(names: Iterable[str], chosen: Collection[str]) -> list[str]:
    """Return the `chosen` ones of some names, in the order of these names."""
    return [name for name in names if name in chosen]


def _memories_of(exchanged: ExchangedTensors, tensor: str) -> frozenset[str]:
    """Return the memories on chip that an exchangeable tensor may stay in."""
    return frozenset(place.memory for place in exchanged.places_of_tensor(tensor))


def _memory_restrictions(
    memories_of: Mapping[str, Collection[str]], inner: Sequence[str]
) -> Iterator[Restriction]:
    """Yield one restriction per tensor that may not stay in all exchange memories.

    `memories_of[T]`: the memories on chip that T may stay in. `inner`: all of them, outermost
    first.
    """
    for tensor, memories in memories_of.items():
        if left_out := [name for name in inner if name not in memories]:
            yield NOT_EXCHANGED_IN(tensor=tensor, memories=left_out)


def _order_restrictions(spaces: Sequence[Mapspace]) -> Iterator[Restriction]:
    """Yield restrictions for memories whose holders need not keep the order of the hierarchy."""
    reorderable = dict.fromkeys(name for space in spaces for name in reorderable_memories(space))
    if not reorderable:
        return
    yield ORDER_ABOVE_EXCHANGED(memories=reorderable)
    if any(not space.problem.conventions.loops_sink for space in spaces):
        yield NO_HOLDER_BELOW_DEEPER_LANES()


def _copy_restrictions(problem: FusedProblem, below_lanes: str) -> Iterator[Restriction]:
    """Yield which mappings of copy Einsums are left out.

    `below_lanes`: name of an exchange memory below shared lanes; "" if there is none.
    """
    tables = problem.copies
    if unshared := [table.einsum.name for table in tables if not table.shares_loops]:
        yield COPIES_SHARE_NO_LOOPS(einsums=unshared)
    if sharing := [table.einsum.name for table in tables if table.shares_loops]:
        yield COPIES_PRIVATE_BELOW_LOOPS(einsums=sharing)
    without_lanes = [table.einsum.name for table in tables if not table.shares_lanes]
    if below_lanes and without_lanes:
        yield COPIES_SHARE_NO_LANES(einsums=without_lanes, memory=below_lanes)
    if tables:
        yield COPY_INPUTS_RESERVED()


def _reservation_restrictions(exchanged: ExchangedTensors) -> Iterator[Restriction]:
    """Yield the restrictions about tensors for which more bits are reserved than an Einsum needs.

    Such tensors are seen through different windows in one shared tile, or in several widths.
    """
    tensors = exchanged.workload.tensors
    if exchanged.varied_windows and exchanged.shares_tiles:
        windowed = [t for t in tensors if t in exchanged.varied_windows]
        yield LARGEST_TILE_RESERVED(tensors=windowed)
    if exchanged.bounded_widths:
        yield WIDEST_TILE_RESERVED(tensors=[t for t in tensors if t in exchanged.bounded_widths])
