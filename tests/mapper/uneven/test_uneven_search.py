"""Searching uneven tiles from the outside: options, certificates, mapspaces, budgets."""

from __future__ import annotations

import random
from functools import cache
from itertools import chain, islice, pairwise
from typing import cast

import pytest
from explore import at_night
from nodes import arch_text, lanes, mac, memory
from uneven_cases import uneven_space

from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.searches.result import EinsumMapping
from tilewright.mapper.workload.errors import UnsupportedFeature
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = arch_text(
    memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", (100, "inf"), (110, "inf")),
    memory("BUF", 160, "keep: ~DRAM, may_keep: All", (5, 256), (6, 128)),
    lanes("PE", "x", 4),
    mac(0.5),
)


def matmuls(*sizes: int, m: int = 7) -> Workload:
    ranks = ", ".join(f"{rank}: {n}" for rank, n in zip("KNPQ", sizes, strict=False))
    lines = [f"workload:\n  rank_sizes: {{M: {m}, {ranks}}}\n  bits_per_value: {{All: 8}}"]
    lines.append("  einsums:")
    for number, (k, n) in enumerate(zip("knpq", "npq"[: len(sizes) - 1], strict=False)):
        lines.append(
            f'  - einsum: "T{number + 1}[m, {n}] = T{number}[m, {k}] * W{number}[{k}, {n}]"'
        )
        lines.append(f"    renames: {{input: T{number}, weight: W{number}, output: T{number + 1}}}")
    return load_workload("\n".join(lines) + "\n")


def space(work: Workload, *uneven: str, arch: str = ARCH) -> Mapspace:
    (flat,) = flatten(load_arch(arch), work.scope(work.einsums[0]))
    return Mapspace(work.einsums[0], flat, uneven=frozenset(uneven))


def test_seven_rows_on_four_lanes() -> None:
    work = matmuls(5, 3)
    even = search(ARCH, work, objective="latency", conventions="default")
    uneven = search(ARCH, work, objective="latency", uneven=["m"])
    assert uneven.best.score.latency < even.best.score.latency
    assert uneven.certificate.kind == "optimal"
    assert uneven.certificate.scope.startswith("one imperfect loop each over m")
    assert "perfect factors" in even.certificate.scope
    again = evaluate(load_arch(ARCH), work, uneven.best.mapping)
    assert again.latency == uneven.best.score.latency


@pytest.mark.parametrize("objective", ["edp", *at_night("energy", "latency")])
def test_more_uneven_variables_never_hurt_without_min_usage(objective: str) -> None:
    work = matmuls(5, 3)
    values = []
    for names in ((), ("m",), ("m", "k"), ("m", "k", "n")):
        goal = Goal(cast("Objective", objective))
        result = ExactSearch().find(space(work, *names), goal, None)
        assert result.best is not None
        assert result.proven
        values.append(result.best.value(goal))
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(values))
    assert objective != "latency" or values[-1] < values[0]


def test_all_means_all_rank_variables() -> None:
    work = matmuls(5, 3)
    one, other = (search(ARCH, work, uneven=names) for names in ("all", ["n", "k", "m"]))
    assert (one.best, one.certificate) == (other.best, other.certificate)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"uneven": ["q"]}, "rank variable"),
    ],
)
def test_refusals_say_why(options: dict[str, object], word: str) -> None:
    with pytest.raises(TilewrightError, match=word):
        search(ARCH, matmuls(5, 3), **options)  # type: ignore[arg-type]


def test_on_average_variables_in_sums_stay_even() -> None:
    work = (
        "workload:\n  rank_sizes: {W: 9, P: 7, R: 3, M: 5}\n  bits_per_value: {All: 8}\n"
        '  einsums:\n  - einsum: "Z[p, m] = A[W: p + r] * B[m, r]"\n'
        "    renames: {input: A, weight: B, output: Z}\n"
    )
    result = search(ARCH, work, conventions="accelforge", uneven="all")
    assert "one imperfect loop each over m" in result.certificate.scope
    with pytest.raises(UnsupportedFeature, match="uneven tiles of p, which stand in sums"):
        search(ARCH, work, conventions="accelforge", uneven=["p"])


@cache
def costs_of_all_small() -> list[EinsumMapping]:
    """The costs of every mapping of SMALL whose tiles of m may be uneven."""
    room = space(SMALL, "m")
    return [MappingScorer(room).costed(mapping) for mapping in room]


SMALL = matmuls(3, 2)


@pytest.mark.parametrize(
    "options", [{"front": ["energy", "latency"]}, {"objective": "energy * latency ** 2"}]
)
def test_fronts_and_formulas_over_uneven_tiles_are_those_of_all_mappings(
    options: dict[str, object],
) -> None:
    """What comes back is the best of all mappings of the mapspace."""
    found = search(ARCH, SMALL, uneven=["m"], **options)  # type: ignore[arg-type]
    assert found.certificate.kind == "optimal"
    judged = costs_of_all_small()
    if "front" in options:
        rows = {(point.score.energy, point.score.latency) for point in found.front}
        pairs = {(one.energy, one.latency) for one in judged}
        worse = {a for a in pairs for b in pairs if b != a and b[0] <= a[0] and b[1] <= a[1]}
        least = pairs - worse
        assert [*chain(*sorted(rows))] == pytest.approx([*chain(*sorted(least))])
    else:
        assert found.certificate.value == pytest.approx(
            min(one.energy * one.latency**2 for one in judged)
        )


@pytest.mark.parametrize(
    "options", [{"front": ["energy", "usage"]}, {"objective": "energy * (1 + usage.BUF)"}]
)
def test_usage_over_uneven_tiles_goes_where_no_list_does(options: dict[str, object]) -> None:
    work = matmuls(31, 12, m=29)
    even = search(ARCH, work, **options)  # type: ignore[arg-type]
    found = search(ARCH, work, uneven="all", **options)  # type: ignore[arg-type]
    assert found.certificate.kind == "optimal"
    assert found.certificate.value <= even.certificate.value * (1 + 1e-12)
    assert found.front_proof is None or found.front_proof.whole
    for one in even.front:  # nothing even is left uncovered
        row = one.score.energy, one.score.metric("usage.BUF")
        assert any(
            other.score.energy <= row[0] * (1 + 1e-9) and other.score.metric("usage.BUF") <= row[1]
            for other in found.front
        )


@pytest.mark.nightly
def test_a_front_over_uneven_tiles_goes_where_no_list_does() -> None:
    work = matmuls(31, 6, m=29)
    found = search(ARCH, work, uneven="all", front=("energy", "latency"))
    assert space(work, "m", "k", "n").size.points > 20_000
    assert found.front_proof is not None
    assert found.front_proof.whole
    for objective in ("energy", "latency"):
        best = search(ARCH, work, uneven="all", objective=objective).certificate.value
        least = min(point.score.metric(objective) for point in found.front)
        assert least == pytest.approx(best, rel=1e-9)


def test_a_mapspace_refuses_variables_that_the_einsum_does_not_have() -> None:
    with pytest.raises(TilewrightError, match="no such rank variable"):
        space(matmuls(5, 3), "z")


def test_einsums_take_the_variables_that_they_have() -> None:
    work = matmuls(5, 3, 2)
    request = request_of(load_arch(ARCH), work, {"uneven": ["m", "p"]})
    assert [request.uneven_variables(einsum) for einsum in work.einsums] == [
        frozenset({"m"}),
        frozenset({"m", "p"}),
    ]


def test_a_workload_gets_the_better_of_fused_and_uneven() -> None:
    work = matmuls(5, 3, 2)
    both = search(ARCH, work, uneven="all")
    alone = search(ARCH, work, uneven="all", fusion=False)
    fused = search(ARCH, work)
    values = [r.certificate.value for r in (both, alone, fused)]
    assert values[0] == min(values)
    assert both.certificate.kind == "optimal"
    assert "if unfused: one imperfect loop each over" in both.certificate.scope
    assert "no fusion: shared tensors kept whole" in alone.certificate.scope


def test_a_budget_of_nothing_gives_an_honest_bound() -> None:
    work = matmuls(101, 97, m=103)
    result = search(ARCH, work, uneven="all", budget=0.0)
    best = search(ARCH, work, uneven=["m"])
    assert result.certificate.lower_bound <= best.certificate.value * (1 + 1e-9)
    assert result.certificate.kind == "bounded"


def test_same_answer_twice() -> None:
    work = matmuls(5, 3)
    answers = [str(search(ARCH, work, objective="edp", uneven="all").best) for _ in range(2)]
    assert answers[0] == answers[1]


def test_min_usage_asks_uneven_tiles_for_the_lanes_that_they_reach() -> None:
    arch = ARCH.replace("fanout: 4", "fanout: 4, reuse: weight, min_usage: 1")
    lanes = []
    for names in ((), ("m",)):
        used = {
            -(-_above(mapping, node) // node.tile_shape)
            for mapping in space(matmuls(5, 3), *names, arch=arch)
            for node in mapping.nodes
            if isinstance(node, Spatial)
        }
        lanes.append(used)
    assert lanes == [set(), {4}]


def _above(mapping: Mapping, node: Spatial) -> int:
    """Return the tile of m above a loop."""
    tile = 7
    for other in mapping.nodes:
        if other is node:
            return tile
        if isinstance(other, (Temporal, Spatial)) and other.rank_variable == "m":
            tile = other.tile_shape
    raise AssertionError


@pytest.mark.parametrize("seed", [1, 12, *at_night(7, 33)])
def test_points_are_counted_drawn_and_found(seed: int) -> None:
    room = uneven_space(seed, small=True)
    listed = list(islice(room, 3000))
    assert len(listed) <= room.size.points
    assert all(room.contains(mapping) is None for mapping in listed[:300])
    even = {repr(m) for m in Mapspace(room.einsum, room.flat)}
    if all(d.min_usage <= 0 for c in room.problem.components for d in c.spatial):
        assert even <= {repr(m) for m in listed}
    if listed:
        drawn = [room.sample(random.Random(n)) for n in range(20)]
        assert all(room.contains(mapping) is None for mapping in drawn)
        for mapping in drawn[:5]:
            near = list(room.neighbours(mapping))
            assert all(room.contains(other) is None for other in near)


def test_size_is_exact_where_nothing_overflows() -> None:
    arch = ARCH.replace("size: 160", "size: 100000")
    room = space(matmuls(3, 2, m=5), "m", "k", arch=arch)
    assert room.size.points == len(list(room))


def nest(*loops: Temporal | Spatial) -> Mapping:
    return Mapping((Storage(("T0", "W0", "T1"), "DRAM"), *loops, ComputeNode("T1", "MAC")))


@pytest.mark.parametrize(
    ("loops", "reason"),
    [
        ((Temporal("m", 3), Temporal("k", 1), Spatial("m", 1, "x", "PE")), None),
        ((Temporal("m", 3), Temporal("m", 2), Temporal("k", 1), Temporal("m", 1)), "do not divide"),
        ((Temporal("k", 2), Temporal("m", 1), Temporal("k", 1)), "do not divide"),
    ],
)
def test_membership_of_uneven_tiles(
    loops: tuple[Temporal | Spatial, ...], reason: str | None
) -> None:
    arch = ARCH.replace("keep: ~DRAM, may_keep: All", "keep: Nothing")
    room = space(matmuls(5, 1), "m", arch=arch)
    told = room.contains(nest(*loops))
    assert told is None if reason is None else reason in (told or "")


def test_the_default_mapspace_is_untouched() -> None:
    work = matmuls(6, 2, m=4)
    assert [repr(m) for m in space(work)] == [
        repr(m) for m in Mapspace(work.einsums[0], space(work).flat, uneven=frozenset())
    ]
