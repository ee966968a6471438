"""The public search: results, certificates, and errors that say why."""

from __future__ import annotations

from dataclasses import fields

import pytest
from buffered_design import ARCH, arch, chain

from tilewright.arch.errors import TilewrightError
from tilewright.arch.quantities import quantity
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.metric_terms import touched_values
from tilewright.mapper.searches.methods.exhaustive import ExhaustiveSearch
from tilewright.mapper.searches.request import SearchOptions, SearchSettings, request_of
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_result_is_what_the_model_says(objective: str, conventions: str) -> None:
    result = search(arch(), chain(12, 16), objective=objective, conventions=conventions)
    score = evaluate(arch(), chain(12, 16), result.best.mapping, conventions)
    assert result.best.score == score
    assert result.certificate.kind == "optimal"
    assert result.certificate.gap == 0
    assert result.certificate.value == getattr(score, objective)
    assert result.certificate.lower_bound == pytest.approx(result.certificate.value, rel=1e-9)
    assert result.statistics.templates > 1
    assert result.statistics.states == 4 * 6 * 5


def test_metrics_bound_each_other() -> None:
    found = {
        o: search(arch(), chain(12, 16), objective=o).best.score for o in ("energy", "latency")
    }
    product = search(arch(), chain(12, 16), objective="edp").best.score
    assert found["energy"].energy <= product.energy
    assert found["latency"].latency <= product.latency
    assert product.edp <= min(score.edp for score in found.values())


def test_more_room_never_hurts_and_constraints_never_help() -> None:
    values = [
        search(arch(BUF__size=size), chain(12, 16)).certificate.value
        for size in (64, 128, 256, 512, 1024, 4096)
    ]
    assert values == sorted(values, reverse=True)
    free = search(arch(), chain(12, 16), objective="edp").certificate.value
    tight = load_arch(ARCH.replace("fanout: 8", "fanout: 8, reuse: input"))
    assert search(tight, chain(12, 16), objective="edp").certificate.value >= free


def test_scaled_energies_scale_the_optimum() -> None:
    base = search(arch(), chain(12, 16)).certificate.value
    scaled = load_arch(ARCH.replace("name: DRAM", "name: DRAM\n    energy_scale: 4")
                       .replace("name: BUF", "name: BUF\n    energy_scale: 4")
                       .replace("name: REG", "name: REG\n    energy_scale: 4")
                       .replace("name: MAC", "name: MAC\n    energy_scale: 4"))  # fmt: skip
    assert search(scaled, chain(12, 16)).certificate.value == pytest.approx(4 * base, rel=1e-12)


def test_equal_latency_costs_no_needless_energy() -> None:
    fast = arch(MAC__actions__compute__throughput=0.001)  # every mapping with 8 lanes ties
    result = search(fast, chain(4, 2, m=4), objective="latency")
    listed = search(fast, chain(4, 2, m=4), objective="latency", method=ExhaustiveSearch())
    assert result.certificate.value == listed.certificate.value
    assert result.best.score.energy == pytest.approx(listed.best.score.energy, rel=1e-12)


def test_workload_is_joined_unfused_and_says_so() -> None:
    work = chain(8, 8, 8, 4)
    result = search(arch(), work, fusion=False)
    alone = [search(arch(), work, einsum=e.name).certificate.value for e in work.einsums]
    assert result.certificate.value == pytest.approx(sum(alone), rel=1e-12)
    assert result.certificate.kind == "optimal"
    assert "no fusion: shared tensors kept whole in DRAM" in result.certificate.scope
    assert result.statistics.solved == 2  # T1 and T2 pose the same problem
    assert evaluate(arch(), work, result.best.mapping) == result.best.score


def test_product_of_sums_is_the_least_over_all_pairs() -> None:
    work, slow = chain(6, 4, 9), arch(DRAM__actions__read__throughput=2)
    result = search(slow, work, objective="edp", front=("energy", "latency"), fusion=False)
    spaces = [front_of(slow, work, einsum.name) for einsum in work.einsums]
    least = min((a + c) * (b + d) for a, b in spaces[0] for c, d in spaces[1])
    assert result.certificate.kind == "optimal"
    assert result.certificate.value == pytest.approx(least, rel=1e-9)
    energies = [one.score.energy for one in result.front]
    latencies = [one.score.latency for one in result.front]
    assert energies == sorted(energies)
    assert latencies == sorted(latencies, reverse=True)


def front_of(design: Arch, work: Workload, name: str) -> list[tuple[float, float]]:
    """Return (energy, latency) at many prices of a second: more than the hull of the front."""
    from tilewright.mapper.searches.solver import EinsumSolver

    solver = EinsumSolver(request_of(design, work, {"method": ExactSearch()}))
    einsum = work.einsum(name)
    prices = [0.0, *(10.0**n for n in range(-3, 6)), *(3 * 10.0**n for n in range(-3, 6))]
    found = [solver.solve(einsum, Goal("energy", price)).best for price in prices]
    found.append(solver.solve(einsum, Goal("latency")).best)
    return sorted({(one.energy, one.latency) for one in found})


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_instances_multiply_costs_and_persistent_room(objective: str) -> None:
    text = (
        "workload:\n  rank_sizes: {M: 4, K: 6, N: 2}\n  bits_per_value: {All: 8}\n"
        "  persistent_tensors: weight\n  einsums:\n"
        '  - {einsum: "Z[m, n] = A[m, k] * B[k, n]", n_instances: TIMES,'
        " renames: {input: A, weight: B, output: Z}}\n"
    )
    one, three = (load_workload(text.replace("TIMES", str(n))) for n in (1, 3))
    power = 2 if objective == "edp" else 1
    result = search(arch(), three, objective=objective)
    assert result.certificate.kind == "optimal"
    least = search(arch(), one, objective=objective).certificate.value
    assert result.certificate.value == pytest.approx(3**power * least, rel=1e-12)
    need = 8 * (4 * 6 + 3 * 6 * 2 + 4 * 2)  # the weight of all three instances stays in DRAM
    tight = search(arch(DRAM__size=need), three, objective=objective)
    assert tight.best.mapping == result.best.mapping
    with pytest.raises(InfeasibleMapping, match="288 bit for B"):
        search(arch(DRAM__size=need - 1), three, objective=objective)


def test_min_usage_gives_way_to_capacity() -> None:
    """Eight lanes need eight weights or eight sums in a buffer that holds three values."""
    crowded = ARCH.replace("size: 1024", "size: 24").replace('keep: "~DRAM"', "keep: All")
    crowded = crowded.replace("fanout: 8", "fanout: 8, min_usage: 1, reuse: input")
    result = search(load_arch(crowded), chain(4, 8, m=4))
    used = result.best.score.spatial_usage["T1/PE/x"]
    assert used == 1 / 8
    roomy = search(load_arch(crowded.replace("size: 24", "size: 240")), chain(4, 8, m=4))
    assert roomy.best.score.spatial_usage["T1/PE/x"] == 1


def test_infeasible_says_which_memory_by_how_much() -> None:
    with pytest.raises(InfeasibleMapping) as caught:
        search(arch(REG__size=7), chain(12, 16))
    assert caught.value.exit_code == 3
    assert str(caught.value) == (
        "no mapping of T1 fits. These 2 constraints conflict; no smaller set does:\n"
        "  - REG has 7 bit (<text>:22:11), but the others need at least 8: 8 bit for W0\n"
        "  - REG must keep W0 (<text>:23:21)\n"
        "  at:      <text>:22:11 (arch.nodes[3].size)\n"
        "  instead: REG.size: 8 (now 7)\n"
        "        or: REG.tensors.keep: without W0"
    )


def test_infeasible_lanes_and_placements() -> None:
    bounds = "fanout: 8, loop_bounds: [{expression: m, operator: ==, value: 5}]"
    with pytest.raises(InfeasibleMapping, match=r"lanes of PE\.x over m \(of 8\): == 5"):
        search(load_arch(ARCH.replace("fanout: 8", bounds)), chain(12, 16))
    nowhere = ARCH.replace('keep: "~Intermediates", may_keep: All', "keep: input")
    nowhere = nowhere.replace('keep: "~DRAM", may_keep: All', "keep: weight")
    with pytest.raises(InfeasibleMapping, match="BUF may not keep T1"):
        search(load_arch(nowhere), chain(12, 16))


def test_shared_tensors_that_may_not_leave_the_chip_need_fusion() -> None:
    fused_only = load_arch(ARCH.replace('"~Intermediates", may_keep: All', '"~Intermediates"'))
    with pytest.raises(InfeasibleMapping, match="T1 through the outermost memory") as caught:
        search(fused_only, chain(8, 8, 8), fusion=False)
    assert "search with fusion" in str(caught.value)
    assert search(fused_only, chain(8, 8, 8)).on_chip == ("T1",)


def test_workload_is_fused_where_that_can_be_modelled() -> None:
    work = chain(8, 8, 8, 4)
    result, unfused = search(arch(), work), search(arch(), work, fusion=False)
    assert result.certificate.kind == "optimal"
    assert result.certificate.value < unfused.certificate.value
    assert result.on_chip == ("T1", "T2")
    assert not result.notes
    assert evaluate(arch(), work, result.best.mapping) == result.best.score


def test_what_fusion_cannot_model_is_searched_without_it() -> None:
    spread = ARCH.replace(
        "    name: DRAM\n", "    name: DRAM\n    spatial: [{name: up, fanout: 2}]\n"
    ).replace("fanout: 8", "fanout: 8, min_usage: 1")
    result = search(load_arch(spread), chain(8, 8, 8))
    (note,) = result.notes
    assert "searched without fusion: lanes partition the outermost memory, beside" in note
    assert "no fusion: shared tensors kept whole in DRAM" in result.certificate.scope
    assert result.on_chip == ()


def test_fused_mappings_keep_to_tile_shape() -> None:
    rule = 'keep: "~DRAM", may_keep: All, tile_shape: [{expression: m, operator: "<=", value: 4}]'
    machine, work = load_arch(ARCH.replace('keep: "~DRAM", may_keep: All', rule)), chain(8, 8, 8)
    result = search(machine, work)
    assert not result.notes
    assert result.on_chip == ("T1",)
    assert result.certificate.value > search(arch(), work).certificate.value
    assert result.certificate.value < search(machine, work, fusion=False).certificate.value


def test_unknown_options_are_named() -> None:
    with pytest.raises(TilewrightError, match="no option 'objectiv'") as caught:
        search(arch(), chain(4, 4), objectiv="energy")  # type: ignore[call-arg]
    assert "did you mean objective?" in str(caught.value)
    with pytest.raises(TilewrightError, match="no such metric"):
        search(arch(), chain(4, 4), front=("beauty",))
    with pytest.raises(TilewrightError, match="one loop per rank variable"):
        search(arch(), chain(4, 4), max_fused_loops_per_rank_variable=0)
    with pytest.raises(TilewrightError, match="number of seconds"):
        search(arch(), chain(4, 4), budget=-1.0)


def test_options_have_one_list_of_names() -> None:
    assert list(SearchOptions.__annotations__) == [field.name for field in fields(SearchSettings)]


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_budget_that_is_used_up_gives_an_answer_and_no_false_proof(objective: str) -> None:
    best = search(arch(), chain(12, 16), objective=objective).certificate.value
    hasty = search(arch(), chain(12, 16), objective=objective, budget=0.0).certificate
    assert hasty.kind == "bounded"
    assert 0 < hasty.lower_bound <= best * (1 + 1e-9)
    assert hasty.value >= best * (1 - 1e-9)
    assert hasty.gap == pytest.approx(hasty.value / hasty.lower_bound - 1)


def test_bounded_memory_gives_up_the_proof_only(monkeypatch: pytest.MonkeyPatch) -> None:
    best = search(arch(BUF__size=96), chain(12, 16)).certificate.value
    monkeypatch.setattr("tilewright.mapper.searches.exact.dynamic_program.MAX_LABELS", 4)
    small = search(arch(BUF__size=96), chain(12, 16)).certificate
    assert small.kind == "bounded"
    assert small.lower_bound <= best * (1 + 1e-9) <= small.value * (1 + 2e-9)


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
@pytest.mark.parametrize("kept", ["output", "input", "All", "Nothing, may_keep: All"])
def test_copies_cost_the_least_of_all_mappings(kept: str, conventions: str) -> None:
    work = load_workload(
        "workload:\n  rank_sizes: {M: 4, N: 6}\n  bits_per_value: {All: 8}\n  einsums:\n"
        '  - {einsum: "B[m, n] = A[m, n]", is_copy_operation: true,'
        " renames: {input: A, output: B}}\n"
    )
    design = load_arch(ARCH.replace('keep: "~DRAM", may_keep: All', f"keep: {kept}"))
    result = search(design, work, conventions=conventions)
    listed = search(design, work, conventions=conventions, method=ExhaustiveSearch())
    assert result.certificate.kind == "optimal"
    assert result.certificate.value == listed.certificate.value


def test_unknown_words() -> None:
    with pytest.raises(TilewrightError, match="unknown objective"):
        search(arch(), chain(4, 4), objective="speed")
    with pytest.raises(TilewrightError, match="no Einsum 'Q'"):
        search(arch(), chain(4, 4), einsum="Q")


def test_one_einsum_of_several() -> None:
    result = search(arch(), chain(8, 8, 4), einsum="T2")
    assert isinstance(result.best.mapping, Mapping)
    assert "no fusion: T1 kept in DRAM" in result.certificate.scope


@pytest.mark.parametrize(
    ("index", "sizes"),
    [("2 * p", (5, 1)), ("p + r", (4, 3)), ("2 * p + r", (4, 1)), ("3 * p + 2 * r", (4, 3))],
)
def test_touched_values_are_counted_by_walking(index: str, sizes: tuple[int, int]) -> None:
    p, r = sizes
    factor = int(index.split(" * ", maxsplit=1)[0]) if " * p" in index else 1
    other = (2 if "2 * r" in index else 1) if "r" in index else 0
    walked = {factor * x + other * y for x in range(p) for y in range(r)}
    extent = 1 + factor * (p - 1) + other * (r - 1)
    work = load_workload(
        f"workload:\n  rank_sizes: {{P: {p}, R: {r}, W: {extent}}}\n  bits_per_value: {{All: 8}}\n"
        f'  einsums:\n  - einsum: "Z[p] = A[W: {index}] * B[r]"\n'
        "    renames: {input: A, weight: B, output: Z}\n"
    )
    einsum = work.einsums[0]
    assert touched_values(einsum.access("A"), einsum.bounds) == len(walked)


def test_result_prints_as_loop_nest_costs_and_proof() -> None:
    result = search(arch(), chain(8, 8), front=("energy", "latency"))
    shown = str(result).splitlines()
    nest = str(result.best.mapping).splitlines()
    assert shown[: len(nest)] == nest
    assert shown[len(nest)].startswith(
        f"energy {quantity(result.best.score.energy, 'energy', 6)}, latency "
    )
    assert shown[len(nest) + 1] == str(result.certificate)
    mappings = "1 mapping" if len(result.front) == 1 else f"{len(result.front)} mappings"
    assert shown[len(nest) + 2].startswith(f"front of {mappings}: the whole ")
