"""Fronts of workloads, budgets, forks, copies, and what `search` and `tilewright map` show."""

from __future__ import annotations

import json
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from nodes import arch_text, lanes, mac, memory

from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.cli import cli
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.fronts import label_sweep as sweep
from tilewright.mapper.fronts.mapspace_front import front_of_space
from tilewright.mapper.fronts.pareto_points import undominated
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.objective.measures import front_metrics_of
from tilewright.mapper.searches.unfused import shared_tensors, unfused_mapping
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = arch_text(
    memory(
        "DRAM", 2000, "keep: ~Intermediates, may_keep: All", (100, 16), (110, 8), leak_power="LEAK"
    ),
    memory("BUF", 200, "keep: Nothing, may_keep: All", (5, 64), (6, 32)),
    lanes("PE", "x", 2),
    mac(0.5),
)
SETS = (("energy", "latency"), ("energy", "latency", "usage"), ("usage.DRAM", "edp"), ("usage",))


def arch(leak: float = 0, text: str = ARCH) -> Arch:
    return load_arch(text.replace("LEAK", str(leak)))


def workload(*einsums: str, instances: int = 1, extra: str = "", **sizes: int) -> Workload:
    ranks = ", ".join(f"{name}: {size}" for name, size in sizes.items())
    lines = [f"workload:\n  rank_sizes: {{{ranks}}}\n  bits_per_value: {{All: 4}}\n{extra}"]
    lines.append("  einsums:")
    lines += [f'  - {{einsum: "{text}", n_instances: {instances}}}' for text in einsums]
    return load_workload("\n".join(lines) + "\n")


CHAIN = ("T[m] = A[m, k]", "Z[m, n] = T[m] * B[n]")


def all_unfused(design: Arch, work: Workload, conventions: str) -> list[object]:
    """Score every combination of mappings of the Einsums that the model accepts."""
    spaces = []
    for einsum in work.einsums:
        (flat,) = flatten(design, work.scope(einsum))
        backed = frozenset(einsum.tensors) & shared_tensors(work)
        spaces.append(list(Mapspace(einsum, flat, conventions, backed)))
    found: list[object] = []
    for parts in product(*spaces):
        try:
            found.append(evaluate(design, work, unfused_mapping(work, parts), conventions))
        except InfeasibleMapping:
            continue
    return found


@pytest.mark.parametrize(
    ("conventions", "leak", "instances"),
    [("default", 3, 2), pytest.param("accelforge", 0, 1, marks=pytest.mark.nightly)],
)
def test_unfused_fronts_equal_every_combination(
    conventions: str, leak: float, instances: int
) -> None:
    design = arch(leak)
    work = workload(*CHAIN, instances=instances, M=3, K=2, N=2)
    listed = all_unfused(design, work, conventions)
    assert len(listed) > 500
    for asked in SETS if conventions == "default" else SETS[1:3]:
        result = search(design, work, front=asked, fusion=False, conventions=conventions)
        assert result.front_proof is not None
        assert result.front_proof.whole
        names = result.front_proof.metrics
        every = np.array([[one.metric(name) for name in names] for one in listed])  # type: ignore[attr-defined]
        mine = np.array([[one.score.metric(name) for name in names] for one in result.front])
        assert mine == pytest.approx(every[undominated(every)], rel=1e-9)
    for text in ("energy * latency**2", "energy * usage.BUF + latency * usage.DRAM"):
        result = search(design, work, objective=text, fusion=False, conventions=conventions)
        values = [eval_plain(text, one) for one in listed]
        assert result.certificate.value == pytest.approx(min(values), rel=1e-9)
        assert result.certificate.kind == "optimal"


def eval_plain(text: str, score: object) -> float:
    metric = score.metric  # type: ignore[attr-defined]
    if "usage" not in text:
        return float(metric("energy") * metric("latency") ** 2)
    return float(metric("energy") * metric("usage.BUF") + metric("latency") * metric("usage.DRAM"))


@pytest.mark.row("001.19")
def test_a_fork_joins_the_fronts_of_its_computes() -> None:
    fast = (
        "  - !Compute\n    name: FAST\n    leak_power: 0\n    area: 0\n"
        "    actions: [{name: compute, energy: 50, throughput: 100}]\n"
    )
    text = ARCH.replace("  - !Container", fast + "  - !Container")
    design = arch(text=text.replace("throughput: 1}", "throughput: 0.01}"))
    work = workload("Z[m, n] = A[m, k] * B[k, n]", M=2, K=2, N=2)
    flats = flatten(design, work.scope(work.einsums[0]))
    assert len(flats) == 2
    for asked in SETS:
        measures = front_metrics_of(asked, flats)
        parts = [
            front_of_space(Mapspace(work.einsums[0], flat), measures, UNLIMITED) for flat in flats
        ]
        every = [point.score for part in parts for point in part.points]
        values = np.array([[one.metric(name) for name in measures.names] for one in every])
        result = search(design, work, front=asked)
        mine = np.array([[p.score.metric(name) for name in measures.names] for p in result.front])
        assert mine == pytest.approx(values[undominated(values)], rel=1e-12)
    both = search(design, work, front=("energy", "latency")).front
    assert {str(one.mapping).rstrip().rsplit(" ", 1)[-1] for one in both} == {"MAC", "FAST"}


def test_a_budget_leaves_a_front_that_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    work = workload("Z[m, n] = A[m, k] * B[k, n]", M=8, K=8, N=8)
    asked = ("energy", "latency", "usage")
    whole = search(arch(), work, front=asked)
    assert whole.front_proof is not None
    assert whole.front_proof.whole
    stopped = search(arch(), work, front=asked, budget=0)
    assert stopped.front_proof is not None
    assert not stopped.front_proof.whole
    assert stopped.front
    assert "near the Pareto set" in str(stopped.front_proof)
    monkeypatch.setattr(sweep, "MAX_LABELS", 60)
    partly = search(arch(), work, front=asked, budget=1000)
    assert partly.front_proof is not None
    assert not partly.front_proof.whole
    limit = partly.front_proof.energy
    assert 0 < limit < inf
    below = [point.score for point in whole.front if point.score.energy <= limit]
    values = {tuple(p.score.metric(n) for n in partly.front_proof.metrics) for p in partly.front}
    names = partly.front_proof.metrics
    assert {tuple(score.metric(name) for name in names) for score in below} <= values


def test_what_does_not_exist_is_refused_before_the_search() -> None:
    work = workload("Z[m] = A[m, k] * B[k]", M=4, K=4)
    with pytest.raises(TilewrightError, match="no such metric") as caught:
        search(arch(), work, front=("usage.BUFF",))
    assert "usage.BUF" in str(caught.value)
    with pytest.raises(TilewrightError, match="there is no BUFF"):
        search(arch(), work, objective="energy * usage.BUFF")


def test_identical_einsums_and_persistent_tensors() -> None:
    pair = workload("T[m] = A[m, k] * B[k]", "Z[m] = C[m, k] * D[k]", M=4, K=4)
    result = search(arch(), pair, front=("energy", "latency"), fusion=False)
    assert result.front_proof is not None
    assert result.front_proof.whole
    keep = workload(
        "T[m] = A[m, k] * B[k]", "Z[m] = T[m] * D[m]", extra="  persistent_tensors: B\n", M=4, K=4
    )
    with pytest.raises(UnsupportedFeature, match="persistent"):
        search(arch(), keep, front=("usage", "energy"), fusion=False)


def test_a_copy_has_a_front() -> None:
    text = (
        "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 4}\n  einsums:\n"
        '  - {einsum: "Z[m] = A[m]", is_copy_operation: true}\n'
    )
    result = search(arch(), load_workload(text), front=("energy", "latency"))
    assert result.front_proof is not None
    assert result.front_proof.whole
    best = search(arch(), load_workload(text), objective="energy").best.score
    assert result.front[0].score.energy == pytest.approx(best.energy, rel=1e-12)


@pytest.mark.parametrize("metrics", SETS[:2])
def test_the_best_mapping_is_on_the_front(metrics: tuple[str, ...]) -> None:
    sizes = "workload:\n  rank_sizes: {M: 4, N: 4, K: 4}\n  bits_per_value: {All: 4}\n"
    work = load_workload(sizes + '  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]\n')
    result = search(arch(), work, front=metrics)
    assert result.best in result.front
    assert result.certificate.value == result.best.score.energy


def test_the_command_prints_the_front(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ARCH.replace("LEAK", "0"))
    lines = ["workload:", "  rank_sizes: {M: 8, K: 8, N: 8}", "  bits_per_value: {All: 4}"]
    lines += ["  einsums:", '  - einsum: "Z[m, n] = A[m, k] * B[k, n]"']
    (tmp_path / "w.yaml").write_text("\n".join(lines) + "\n")
    place = ["--arch", str(tmp_path / "a.yaml"), "--workload", str(tmp_path / "w.yaml")]

    def run(*words: str) -> str:
        done = CliRunner().invoke(cli, ["map", *place, *words])
        assert done.exit_code == 0, done.output
        return done.output

    asked = ["--front", "energy,latency,usage"]
    document = json.loads(run(*asked, "--json"))
    assert document["front_proof"]["whole"]
    assert document["front_proof"]["metrics"] == ["energy", "latency", "usage.DRAM", "usage.BUF"]
    assert len(document["front"]) > 3
    (tmp_path / "m.yaml").write_text(document["front"][1]["mapping"])
    score = evaluate(tmp_path / "a.yaml", tmp_path / "w.yaml", tmp_path / "m.yaml")
    for name in document["front_proof"]["metrics"]:
        assert score.metric(name) == document["front"][1][name]
    text = run(*asked)
    count = len(document["front"])
    assert f"{count} mappings, {count} verified: the whole Pareto set over energy" in text
    assert "usage.BUF" in text
    assert "optimal in energy * latency**2" in run("--objective", "energy * latency**2")


def test_measures_name_every_finite_memory_once() -> None:
    work = workload("Z[m] = A[m, k] * B[k]", M=4, K=4)
    flats = flatten(arch(), work.scope(work.einsums[0]))
    measures = front_metrics_of(("usage.BUF", "usage", "latency"), flats)
    assert measures.names == ("usage.BUF", "usage.DRAM", "latency")
    assert measures.memories == ("BUF", "DRAM")
    assert measures.metric_columns == (1, 2, 3)
    assert inf not in measures.metric_columns
