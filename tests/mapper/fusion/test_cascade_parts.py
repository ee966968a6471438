"""The parts of the cascade search, each against a slow twin or by hand."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from fused_cases import chain, two_memories, workload_of
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.flattening.flattening import flatten
from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace, exchanged_tensors_of
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.boundary.tile_size import Extent, RankExtent, TensorView
from tilewright.mapper.fusion.fused_optimum import garbage_collection_paused
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.join.group_pareto import pareto
from tilewright.mapper.fusion.join.label_pass import JoinLabels, suffix_maximum, undominated_labels
from tilewright.mapper.fusion.join.on_chip_relaxation import OnChipRelaxation
from tilewright.mapper.fusion.pmappings.fused_templates import fused_templates
from tilewright.mapper.fusion.pmappings.pmappings import LoopOrder, loop_orders
from tilewright.mapper.fusion.pmappings.region import (
    FusedLoop,
    FusedLoops,
    needless_first_variables,
)
from tilewright.mapper.fusion.pmappings.shared_spatial import gap_below_lanes
from tilewright.mapper.mapping.mapping import Sequential, Storage
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.placement import Holder
from tilewright.mapper.workload.workload_loading import load_workload

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)),
    min_size=1,
    max_size=30,
)


@given(ROWS)
def test_pareto_keeps_what_nothing_dominates(rows: list[tuple[int, ...]]) -> None:
    groups = np.array([row[0] for row in rows], np.int64)
    values = np.array([row[1:] for row in rows], np.float64)
    kept = pareto(groups, values).tolist()
    wanted = {
        row
        for row in rows
        if not any(
            other != row
            and other[0] == row[0]
            and all(a <= b for a, b in zip(other[1:], row[1:], strict=True))
            for other in rows
        )
    }
    assert {rows[i] for i in kept} == wanted
    assert len(kept) == len(wanted)  # of equal rows one


def test_chains_exchange_their_intermediates() -> None:
    found = exchanged_tensors_of(chain(4, (2, 3, 2, 3)))
    assert found.exchangeable == {"T1", "T2"}
    assert found.shareable_loops["T1"] == {"m", "n1"}
    assert [found.live_after(i) for i in range(3)] == [(("T1", ""),), (("T2", ""),), ()]
    assert not found.contested  # nothing else is live where T1 or T2 is exchanged


def test_a_tensor_of_three_einsums_is_contested() -> None:
    texts = ("Y[m] = A[m] * B[m]", "X[m] = Y[m] * B[m]", "Z[m] = X[m] * B[m]")
    found = exchanged_tensors_of(workload_of(texts, {"m": 4}))
    assert found.exchangeable == {"Y", "X"}
    assert found.outermost_only == {"B"}
    assert found.contested == {"B"}


def test_a_rank_read_under_another_name_is_the_same_loop() -> None:
    texts = ("Y[m, n] = A[m] * B[n]", "Z[m] = Y[M: n, N: m] * C[n]")
    found = exchanged_tensors_of(workload_of(texts, {"m": 4, "n": 4}))
    assert found.loop_names[1] == {"m": "n", "n": "m"}
    assert found.shareable_loops["Y"] == {"m", "n"}


def test_ranks_are_told_by_name_not_by_place() -> None:
    texts = ("Y[m, n] = A[m] * B[n]", "Z[m] = Y[n, m] * C[n]")
    found = exchanged_tensors_of(workload_of(texts, {"m": 4, "n": 4}))
    assert found.loop_names[1] == {"m": "m", "n": "n"}
    assert found.shareable_loops["Y"] == {"m", "n"}


def test_sliding_tensors_may_stay_on_chip() -> None:
    workload = load_workload(
        "workload:\n  rank_sizes: {P: 4, R: 2, W: 5, K: 2}\n  bits_per_value: {All: 8}\n"
        '  einsums:\n  - einsum: "I[k, w] = A[w, k] * B[k]"\n'
        "    renames: {input: A, weight: B, output: I}\n"
        '  - einsum: "O[p] = I[k, W: p + r] * F[r]"\n'
        "    renames: {input: I, weight: F, output: O}\n"
    )
    found = exchanged_tensors_of(workload)
    assert found.exchangeable == {"I"}
    assert found.shareable_loops["I"] == {
        "k"
    }  # a window of w would be needed before it is complete
    result = fused_search(two_memories(64), workload)
    assert result.certificate.kind == "optimal"
    assert result.on_chip == ("I",)


def test_windows_of_one_tensor_are_told_apart() -> None:
    texts = ("Y[p] = A[W: p + r] * F[r]", "X[p] = Y[p] * A[W: p]", "Z[p] = X[p] * A[W: p]")
    work = workload_of(texts, {"p": 4, "r": 2, "w": 5})
    assert exchanged_tensors_of(work).varied_windows == {"A"}
    same = workload_of((texts[1], texts[2]), {"p": 4, "w": 5})
    assert not exchanged_tensors_of(same).varied_windows


def test_einsums_that_run_differently_often_exchange_as_in_accelforge() -> None:
    """4 values each of Y and X; which of three runs of Z reads which Y is not said."""
    texts = ("Y[m] = A[m] * B[m]", "X[m] = Y[m] * C[m]", "Z[m] = Y[m] * D[m]")
    work = workload_of(texts, {"m": 4})
    work = replace(work, einsums=(*work.einsums[:2], replace(work.einsums[2], n_instances=3)))
    assert not exchanged_tensors_of(work).exchangeable
    assert exchanged_tensors_of(work, same_instances=False).exchangeable == {"Y"}
    backed = fused_search(two_memories(64), work)
    chip = fused_search(two_memories(64), work, conventions="accelforge")
    assert (backed.on_chip, chip.on_chip) == ((), ("Y",))
    assert backed.certificate.value - chip.certificate.value == (1 + 1 + 3) * 4 * (50 - 1)


def test_extents_shrink_with_the_loops_above() -> None:
    ranks = (RankExtent(1, (("m", 8, 1),)), RankExtent(1, (("n", 6, 1),)))
    extent = Extent((TensorView(2.0, ranks),))
    assert extent.bits_below((), np.zeros((1, 0), np.int64)).tolist() == [96]
    loops = (LoopName("m"), LoopName("k"))
    assert extent.bits_below(loops, np.array([[2, 1], [4, 3]])).tolist() == [24, 48]
    loops = (LoopName("m"), LoopName("m", ("PE", "x")))
    assert extent.bits_below(loops, np.array([[4, 2]])).tolist() == [24]


def test_the_largest_of_several_windows_counts() -> None:
    whole = TensorView(1.0, (RankExtent(1, (("w", 6, 1),)),))
    window = TensorView(1.0, (RankExtent(1, (("p", 2, 2), ("r", 3, 1))),))
    extent = Extent((whole,)).merged(Extent((window,)))
    tiles = np.array([[6, 2], [3, 2], [3, 1]])
    assert extent.bits_below((LoopName("w"), LoopName("p")), tiles).tolist() == [6, 5, 3]


def test_positions_of_one_point_count_whatever_the_tile() -> None:
    ranks = (RankExtent(3, (("m", 8, 1),)), RankExtent(4, ()))
    extent = Extent((TensorView(1.0, ranks),))
    assert extent.bits_below((), np.zeros((1, 0), np.int64)).tolist() == [40]
    assert extent.bits_below((LoopName("m"),), np.array([[2], [1]])).tolist() == [16, 12]


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=4))
def test_what_is_behind_is_the_greatest_from_there_on(peaks: list[list[int]]) -> None:
    wanted = [[max(row[i:]) for i in range(3)] for row in peaks]
    assert suffix_maximum(np.array(peaks, np.float64)).tolist() == wanted


def test_reduced_labels_compare_every_depth() -> None:
    """fusion.md §5: one number for all depths would lose the optimum."""
    shallow = [1.0, 0.0, 1.0, 9.0, 9.0, 9.0]
    deep = [1.0, 0.0, 4.0, 4.0, 9.0, 9.0]
    worse = [2.0, 0.0, 4.0, 9.0, 9.0, 9.0]
    values = np.array([worse, deep, shallow])
    made = JoinLabels(np.zeros(3, np.int64), values, np.zeros((3, 4), np.int64))
    assert undominated_labels([made]).values.tolist() == [shallow, deep]


DIAMOND = (
    "Y[m] = A[m] * B[m]",
    "X[m] = Y[m] * C[m]",
    "V[m] = Y[m] * D[m]",
    "Z[m] = X[m] * V[m]",
)


@given(st.lists(st.integers(0, 9), min_size=12, max_size=12))
def test_choices_that_agree_add_up(costs: list[int]) -> None:
    """Against every combination of what each Einsum of a diamond keeps on chip."""
    boundaries = exchanged_tensors_of(workload_of(DIAMOND, {"m": 4}))
    names = [boundaries.places_of_einsum(einsum) for einsum in boundaries.workload.einsums]
    priced: list[dict[int, float]] = [{}, {}, {}, {}]
    for place, cost in enumerate(costs):
        few = priced[place % 4]
        if len(few) < 1 << len(names[place % 4]):
            few[len(few)] = float(cost)
    choices = OnChipRelaxation(boundaries, priced)
    sums: list[dict[int, float]] = [{}, {}, {}, {}]
    for chip in range(8):
        kept = {t for i, t in enumerate(("Y", "X", "V")) if chip >> i & 1}
        masks = [sum(1 << i for i, p in enumerate(own) if p.tensor in kept) for own in names]
        if all(mask in few for mask, few in zip(masks, priced, strict=True)):
            total = sum(few[mask] for mask, few in zip(masks, priced, strict=True))
            for number, mask in enumerate(masks):
                rest = total - priced[number][mask]
                sums[number][mask] = min(rest, sums[number].get(mask, float("inf")))
    found = [
        {mask: cost for mask, cost in each.items() if cost < float("inf")}
        for each in choices.costs_of_others(priced)
    ]
    assert found == sums


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


def test_the_collector_is_switched_on_again() -> None:
    assert gc.isenabled()
    with garbage_collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_tree_of_a_tensor_live_across_another_einsum() -> None:
    result = fused_search(two_memories(4), workload_of(DIAMOND, {"m": 4}))
    assert set(result.on_chip) == {"Y", "X", "V"}
    last = result.best.mapping.nodes[-1]
    assert isinstance(last, Sequential)
    assert Storage(("Y",), "BUF") in result.best.mapping.nodes
