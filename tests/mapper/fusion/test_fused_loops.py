"""Orders of fused loops, and loops of the region that no mapping needs."""

from __future__ import annotations

from collections.abc import Iterable

from fused_cases import two_memories, workload_of

from tilewright.arch.flattening.flattening import flatten
from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.pmappings.fused_templates import fused_templates
from tilewright.mapper.fusion.pmappings.region.fused_loops import (
    FusedLoop,
    FusedLoops,
    loop_orders,
    needless_first_variables,
)
from tilewright.mapper.fusion.pmappings.region.tile_reservations import LoopOrder
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import gap_below_lanes
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.placement import Holder


def placed(*loops: tuple[int, int, int]) -> FusedLoops:
    return tuple(FusedLoop(*loop) for loop in loops)


def variables(ways: Iterable[LoopOrder]) -> set[tuple[int, ...]]:
    return {tuple(variable for variable, _ in way) for way in ways}


def test_loops_of_one_gap_stand_in_any_order() -> None:
    none = {0: frozenset[int](), 1: frozenset[int]()}
    assert variables(loop_orders(placed((0, 0, 0), (1, 0, 0), (2, 1, 0)), none)) == {
        (0, 1, 2),
        (1, 0, 2),
    }
    idle = {0: frozenset[int](), 1: frozenset({0})}
    assert variables(loop_orders(placed((0, 1, 0), (1, 1, 0)), idle)) == {(1, 0)}


def test_the_outer_loop_of_one_variable_comes_first() -> None:
    none = {0: frozenset[int](), 1: frozenset[int]()}
    found = set(loop_orders(placed((0, 0, 4), (0, 0, 0), (1, 0, 0)), none))
    assert found == {
        ((0, 4), (0, 0), (1, 0)), ((0, 4), (1, 0), (0, 0)), ((1, 0), (0, 4), (0, 0)),
    }  # fmt: skip


def test_a_loop_relevant_to_a_held_tensor_is_idle_below_it() -> None:
    texts = ("Y[m, n] = A[m, k] * B[k, n]", "Z[m] = Y[m, n] * C[n]")
    work, arch = workload_of(texts, {"m": 2, "n": 2, "k": 2}), two_memories(64)
    einsum = work.einsums[0]
    (flat,) = flatten(arch, work.scope(einsum))
    space = Mapspace(einsum, flat, exchanged=frozenset({"Y"}))
    wanted = (Holder("B", "BUF"), Holder("Y", "BUF", True))
    layout = next(
        one
        for one in fused_templates(space, frozenset({TensorPlace("Y", "BUF")}))
        if one.region == wanted
    )
    names = tuple(einsum.bounds)
    idle = needless_first_variables(space.problem, layout)
    assert set(idle) == {gap_below_lanes(1)}
    assert {names[v] for v in idle[gap_below_lanes(1)]} == {"k", "n"}
