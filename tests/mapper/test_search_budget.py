"""Searches that are stopped: some mapping, a bound that holds, or a clear error."""

from __future__ import annotations

import contextlib
import tracemalloc
from math import inf

import pytest
from explore import at_night
from nodes import arch_text, mac, memory
from search_cases import space_of
from tight_cases import tight_space_of
from uneven_cases import uneven_space

from tilewright.arch.compiled import Kernel
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper import evaluate, search
from tilewright.mapper.explain.kept import why_not_kept
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches import api
from tilewright.mapper.searches.budget import STOP_REQUESTED
from tilewright.mapper.searches.exact import exact, kernels
from tilewright.mapper.searches.exact.beam import BeamSearch
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.kernels import SEARCH_KERNELS
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.least_placement_costs import least_costs, least_value
from tilewright.mapper.searches.methods.relaxed_min_usage import search_with_lowered_min_usage
from tilewright.mapper.searches.result import Progress, gap_text
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.studies import path_of

MAKERS = {"plain": space_of, "tight": tight_space_of, "uneven": uneven_space}
ARCH = arch_text(
    memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", ("100e-12", "4e9")),
    memory("Buffer", 512, "keep: Nothing, may_keep: All", ("2e-12", "inf")),
    mac("1e-12", "1e9"),
)
WORK = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 12, K: 7, N: 12}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "Z[m, k] = Y[m, n] * C[n, k]", renames: {input: Y, weight: C, output: Z}}
"""


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_what_needs_no_templates_is_a_bound(maker: str, objective: str) -> None:
    goal, close = Goal(objective), 0  # type: ignore[arg-type]
    for seed in range(2):
        space = MAKERS[maker](seed)
        best = ExactSearch().find(space, goal, None).best
        if best is None:
            continue
        bound = least_value(space, goal)
        assert 0 < bound <= best.value(goal) * (1 + 1e-12)
        close += bound > 0.2 * best.value(goal)
    assert close


@pytest.mark.parametrize("objective", ["edp", *at_night("energy")])
def test_placements_searched_in_parts_change_no_optimum(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal, fewer = Goal(objective), 0  # type: ignore[arg-type]
    for seed in range(12):
        space = space_of(seed)
        results = []
        for few, part in ((1000, 1), (1, 1)):
            monkeypatch.setattr(exact, "FEW_PLACEMENTS", few)
            monkeypatch.setattr(exact, "FIRST_PART", part)
            results.append(ExactSearch().find(space, goal, None))
        whole, parts = results
        assert whole.proven
        assert parts.proven
        assert (parts.best, parts.lower_bound) == (whole.best, whole.lower_bound)
        fewer += parts.statistics.templates < whole.statistics.templates
    assert fewer


def test_a_first_mapping_is_not_one_on_few_leaking_lanes() -> None:
    work = load_workload(WORK.replace("M: 12, K: 7, N: 12", "M: 484, K: 128, N: 32"))
    arch = load_arch(path_of("hardware", "gpu_like"))
    (flat,) = flatten(arch, work.scope(work.einsums[0]))
    space = Mapspace(work.einsums[0], flat)
    first = BeamSearch(space, Goal("energy")).find(inf, most=1)
    assert first is not None
    best = ExactSearch().find(space, Goal("energy"), None).best
    assert best is not None
    assert first.value < 1.5 * best.energy


def test_each_placement_has_a_bound_and_the_least_is_that_of_all() -> None:
    space = space_of(4)
    each = [least_costs(space, [one]) for one in space.placements]
    assert len(set(each)) > 1
    assert least_costs(space, space.placements)[0] == min(energy for energy, _ in each)
    assert least_costs(space, []) == (inf, inf)


@pytest.mark.parametrize(
    ("sizes", "values"),
    [
        ((8, 8, 8), 3 * 256),  # 2 lanes over each variable; 8 over one of them: 64 + 2 * 512
        ((16, 2, 1), 32 + 8 + 16),  # 4 lanes over m, 2 over k
        ((1, 8, 1), 8 + 8 + 1),
    ],
)
def test_tensors_share_the_lanes_that_there_are(sizes: tuple[int, int, int], values: int) -> None:
    """Handed over from DRAM to 8 lanes: operations / lanes that share, at least each value."""
    lanes = "  - !Container\n    name: Row\n    spatial: [{name: x, fanout: 8}]\n  - !Compute"
    arch = load_arch(ARCH.replace("  - !Compute", lanes))
    m, k, n = sizes
    work = load_workload(
        f"workload:\n  bits_per_value: {{All: 8}}\n  rank_sizes: {{M: {m}, K: {k}, N: {n}}}\n"
        '  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]\n'
    )
    (einsum,) = work.einsums
    (flat,) = flatten(arch, work.scope(einsum))
    space = Mapspace(einsum, flat)
    direct = [p for p in space.placements if not dict(p.kept_tensors)["Buffer"]]
    joules, _ = least_costs(space, direct)
    assert joules == pytest.approx(values * 8 * 100e-12 + m * k * n * 1e-12)  # each bit a call
    best = (
        ExactSearch().find(space.narrowed(space.each_template(direct)), Goal("energy"), None).best
    )
    assert best is not None
    assert best.energy >= joules * (1 - 1e-12)


@pytest.mark.parametrize("maker", MAKERS)
def test_an_einsum_stopped_at_once_has_a_mapping_of_its_space(
    maker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its time or by its memory."""
    for module in ("exact.exact", "uneven.uneven_search"):  # a slow machine may take its time here
        monkeypatch.setattr(f"tilewright.mapper.searches.{module}.PATIENCE", 60.0)
    for seed in (0, 1, 3):
        goal = Goal("edp")
        whole = ExactSearch().find(MAKERS[maker](seed), goal, None)
        for seconds, most_memory in ((0.0, inf), (1e6, 1.0)):
            space = MAKERS[maker](seed)
            hasty = ExactSearch(most_memory).find(space, goal, seconds)
            if whole.best is None:
                assert hasty.best is None
                continue
            assert hasty.best is not None
            assert space.contains(hasty.best.mapping) is None
            assert hasty.lower_bound <= whole.best.value(goal) * (1 + 1e-12)
            assert hasty.best.value(goal) >= whole.best.value(goal) * (1 - 1e-12)
            assert not hasty.proven


@pytest.mark.parametrize(
    ("objective", "uneven", "fusion"),
    [
        ("energy", (), True),
        ("edp", (), False),
        ("energy", ("all",), False),
        pytest.param("energy * latency**2", (), True, marks=pytest.mark.nightly),
        pytest.param("edp", ("all",), True, marks=pytest.mark.nightly),
    ],
)
def test_a_workload_stopped_at_once_has_a_mapping_and_a_bound(
    objective: str, uneven: tuple[str, ...], fusion: bool
) -> None:
    arch, work = load_arch(ARCH), load_workload(WORK)
    options = {"objective": objective, "uneven": uneven, "fusion": fusion}
    best = search(arch, work, **options).certificate  # type: ignore[arg-type]
    for stopped in ({"budget": 0.0}, {"max_memory": 1.0}):
        hasty = search(arch, work, **options, **stopped)  # type: ignore[arg-type]
        proof = hasty.certificate
        assert 0 < proof.lower_bound <= best.value * (1 + 1e-12)
        assert proof.value >= best.value * (1 - 1e-12)
        assert proof.scope == best.scope
        assert evaluate(arch, work, hasty.best.mapping) == hasty.best.score


def test_a_front_of_one_einsum_stopped_by_memory_is_not_whole() -> None:
    arch, work = load_arch(ARCH), load_workload(WORK)
    result = search(arch, work, einsum="Y", front=("energy", "latency"), max_memory=1.0)
    assert result.front
    assert result.front_proof is not None
    assert not result.front_proof.whole


def test_min_usage_out_of_time_is_not_lowered_too_far() -> None:
    class Never:
        def find(self, space: Mapspace, goal: Goal, budget: float | None) -> object:
            return ExactSearch().find(space, goal, budget if budget is None else 0.0)

    for seed in range(12):
        space = space_of(seed)
        lowered = search_with_lowered_min_usage(Never(), space, Goal("energy"), 0.0)  # type: ignore[arg-type]
        whole = search_with_lowered_min_usage(ExactSearch(), space, Goal("energy"), None)
        if lowered is None or lowered.best is None or whole is None:
            continue
        assert whole.best is not None
        assert lowered.best.energy >= whole.best.energy * (1 - 1e-12)


def test_why_not_shares_its_budget() -> None:
    arch, work = load_arch(ARCH), load_workload(WORK)
    answer = why_not_kept(arch, work, "A", "Buffer", budget=0.0)
    assert answer.free.certificate.lower_bound <= answer.free.certificate.value


def test_a_large_workload_has_a_mapping_before_the_fused_search() -> None:
    """Its value is the first that is reported, and none that follows is above it."""
    sizes = {"M": 12, "K": 7, "N": 12}
    text = WORK
    for name, size in sizes.items():
        text = text.replace(f"{name}: {size}", f"{name}: 720")
    told: list[Progress] = []
    result = search(ARCH, text, budget=0.0, progress=told.append)
    assert told[0].doing == "first mapping, unfused"
    assert told[0].value >= result.certificate.value
    fused = [step.value for step in told if step.doing == "fused mappings"]
    assert all(value <= told[0].value for value in fused)

    def stop(step: Progress) -> None:
        told[:] = told[:1] if STOP_REQUESTED.is_set() else [step]
        STOP_REQUESTED.set()

    try:
        stopped = search(ARCH, text, progress=stop)
    finally:
        STOP_REQUESTED.clear()
    assert stopped.certificate.value == told[0].value
    assert 0 < stopped.certificate.lower_bound <= result.certificate.lower_bound
    assert "the request to stop" in stopped.notes[0]


def test_large_gaps_are_ratios() -> None:
    assert gap_text(0.0253) == "2.53 %"
    assert gap_text(0.999) == "99.9 %"
    assert gap_text(33.0) == "34 x"
    assert gap_text(5122.3) == "5,123 x"
    assert gap_text(inf) == "without end"


def test_tiles_that_memory_does_not_hold_are_not_listed():
    """Eight rank variables have 15 million tiles, whose tables take 3 GB."""
    sizes = "{A: 24, B: 30, C: 36, D: 20, E: 18, F: 12, G: 60, H: 48}"
    einsum = "Z[a, b, c, d] = X[a, b, e, f, g] * Y[c, d, e, f, h] * W[g, h]"
    work = load_workload(
        f"workload:\n  rank_sizes: {sizes}\n  bits_per_value: {{All: 8}}\n  einsums: ['{einsum}']\n"
    )
    assert Lattice(work.einsums[0].bounds).table_bytes > 3e9
    arch = load_arch(path_of("hardware", "edge_npu"))
    tracemalloc.start()
    try:
        with contextlib.suppress(InfeasibleMapping):  # or some mapping, without these tables
            search(arch, work, max_memory=1e9, budget=2.0)
        assert tracemalloc.get_traced_memory()[1] < 1e8
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("budget", "hurried"), [(2.0, True), (60.0, False)])
def test_in_a_short_budget_an_unfused_mapping_comes_first(budget: float, hurried: bool) -> None:
    """With few tile shapes, too: such a fused search may end before its first mapping."""
    doing: list[str] = []
    work = load_workload("""
workload:
  rank_sizes: {M: 4, N: 4, K: 4, P: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B}}
  - "Z[m, p] = Y[m, n] * C[n, p]"
""")
    arch = load_arch(path_of("hardware", "edge_npu"))
    search(arch, work, budget=budget, progress=lambda step: doing.append(step.doing))
    assert ("first mapping, unfused" in doing) == hurried


def test_what_a_search_calls_is_compiled_before_its_budget_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With no machine code on disk; a stand-in for the compilation, which takes seconds."""
    compiled: list[str] = []
    states: list[str] = []
    at = "tilewright.arch.parallel_compilation"
    monkeypatch.setattr(f"{at}._looked_for", set())
    monkeypatch.setattr(f"{at}.is_kept", lambda _: False)
    monkeypatch.setattr(f"{at}.compile_missing", lambda each: compiled.extend(map(str, each)))
    monkeypatch.setattr(api, "request_of", lambda *_: states.append("budget begins") or stop())
    monkeypatch.setattr(Kernel, "load", lambda kernel: states.append(kernel.name))

    def stop() -> None:
        raise InfeasibleMapping("enough", instead="nothing")

    for budget, first in ((1.0, "compiling the search, once on a computer"), (None, None)):
        states.clear()
        with pytest.raises(InfeasibleMapping, match="enough"):
            search(ARCH, WORK, budget=budget, progress=lambda state: states.append(state.doing))
        assert states[-1] == "budget begins"
        assert (states[0] if len(states) > 1 else None) == first
    assert len(compiled) == len(SEARCH_KERNELS)


def test_the_kernels_of_a_search_are_all_that_its_modules_declare() -> None:
    declared = [each for each in vars(kernels).values() if isinstance(each, Kernel)]
    assert set(declared) == set(SEARCH_KERNELS)
