"""The front of several workloads is that of all choices of a mapping of each, listed one by one."""

from __future__ import annotations

import random
from itertools import product

import pytest
from nodes import arch_text, mac, memory

from tilewright.arch.errors import SpecError
from tilewright.dse.models.evaluator import asking_for_check, has_check
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.models.inputs import workload
from tilewright.dse.models.weighted import MOST_CHOICES, chosen_together, metrics_of_each
from tilewright.dse.study.preflight import preflight
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.workload.errors import NoFeasibleMapping

WEIGHTS = (2.0, 1.0, 0.5)
ARCH = arch_text(
    memory("Main", "inf", "keep: ~Intermediates, may_keep: All", (50, 8), (60, 8)),
    memory("Buffer", 4096, "may_keep: All", (1, 16)),
    mac(1, 8),
)
WORK = """\
workload:
  rank_sizes: {{M: {m}, K: {k}, N: 6}}
  bits_per_value: {{All: 8}}
  einsums:
  - "C[m, n] = A[m, k] * B[k, n]"
"""
STUDY = """\
name: pair
question: which
seed: 1
arch: {file: arch.yaml}
workloads: [{file: first.yaml, weight: 3}, {file: second.yaml}]
model: analytical
objectives: [energy, latency]
mapper: {objective: energy, front: [energy, latency, usage]}
space: {arch.Buffer.size: {values: [1024, 4096]}}
"""


def value_of(mappings, weights, metric):
    """Work out a metric of several workloads, as the study's page defines it."""
    energy, latency = (
        sum(w * mapping[name] for w, mapping in zip(weights, mappings, strict=True))
        for name in ("energy", "latency")
    )
    known = {"energy": energy, "latency": latency, "edp": energy * latency}
    return known.get(metric, max(mapping.get(metric, 0.0) for mapping in mappings))


def front_by_listing(fronts, weights, metrics):
    """List all choices; leave out those that one beats."""
    rows = {
        tuple(value_of(choice, weights, metric) for metric in metrics)
        for choice in product(*fronts)
    }
    return sorted(
        row
        for row in rows
        if not any(o != row and all(a <= b for a, b in zip(o, row, strict=True)) for o in rows)
    )


@pytest.mark.parametrize(
    "metrics",
    [("energy", "latency"), ("energy", "edp"), ("edp",), ("energy", "usage.B", "latency")],
)
def test_no_choice_is_missing_and_none_is_beaten(metrics):
    draw = random.Random(3)
    for _ in range(20):
        fronts = [
            [
                {name: float(draw.randint(1, 9)) for name in ("energy", "latency", "usage.B")}
                for _ in range(draw.randint(1, 6))
            ]
            for _ in WEIGHTS
        ]
        chosen = chosen_together(fronts, WEIGHTS, metrics)
        mappings = [[f[i] for f, i in zip(fronts, choice, strict=True)] for choice in chosen]
        rows = [tuple(value_of(each, WEIGHTS, name) for name in metrics) for each in mappings]
        assert rows == front_by_listing(fronts, WEIGHTS, metrics)


def test_edp_needs_energy_and_latency_of_each():
    assert metrics_of_each(["edp", "usage"]) == ["usage", "energy", "latency"]
    assert metrics_of_each(["latency"]) == ["latency"]


def test_a_long_front_is_thinned_out_from_end_to_end():
    curve = [{"energy": float(i), "latency": 1000.0 - i} for i in range(700)]
    chosen = chosen_together([curve], [1.0], ("energy", "latency"))
    assert len(chosen) == MOST_CHOICES
    assert (chosen[0], chosen[-1]) == ((0,), (699,))


def test_a_design_records_the_front_of_its_workloads(tmp_path):
    texts = {"arch": ARCH, "first": WORK.format(m=8, k=12), "second": WORK.format(m=4, k=6)}
    for name, text in {**texts, "study": STUDY}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    evaluator = make_evaluator(load_study(tmp_path / "study.yaml"))
    metrics = ("energy", "latency", "usage.Buffer")
    sizes = set()
    for size in (1024, 4096):
        point = {"arch.Buffer.size": size}
        outcome = evaluator.evaluate(point)
        alone = [model.evaluate(point).mappings for model in evaluator.models]
        rows = [tuple(each[name] for name in metrics) for each in outcome.mappings]
        assert rows == front_by_listing(alone, (3.0, 1.0), metrics)
        assert all(each["first.energy"] < each["energy"] for each in outcome.mappings)
        sizes.add(len(rows))
    assert max(sizes) > 2


KNOBS = """\
  workload.rank_sizes.K: {values: [4, 8]}
  workload.second.rank_sizes.K: {values: [2]}
  workload.first.bits_per_value.All: {values: [8, 16]}
"""


def test_a_knob_with_the_name_of_a_workload_changes_that_one_alone(tmp_path):
    (tmp_path / "arch.yaml").write_text(ARCH)
    for name, (m, k) in {"first": (4, 4), "second": (3, 4)}.items():
        (tmp_path / f"{name}.yaml").write_text(WORK.format(m=m, k=k))
    before, _, _ = STUDY.partition("space:")
    (tmp_path / "study.yaml").write_text(f"{before}space:\n{KNOBS}")
    spec = load_study(tmp_path / "study.yaml")
    point = {**spec.space.point((1, 0, 0)), "workload.first.bits_per_value.All": 16}
    works = [workload(source, point) for source in spec.workloads]
    sizes = [work.einsums[0].bounds["k"] for work in works]
    bits = [work.einsums[0].inputs[0].bits_per_value for work in works]
    assert (sizes, bits) == ([8, 2], [16, 8])


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ("workload.second.rank_sizes.Q", "no workload here has a rank of that name"),
        ("workload.second.TOKENS", "no file here has a variable TOKENS"),
        ("workload.second", "no file here has a variable second"),
    ],
)
def test_a_knob_of_one_workload_is_checked_in_its_file(tmp_path, knob, words):
    (tmp_path / "arch.yaml").write_text(ARCH)
    first = WORK.format(m=3, k=4).replace("K", "Q").replace("k]", "q]").replace("[k,", "[q,")
    (tmp_path / "first.yaml").write_text(first)
    (tmp_path / "second.yaml").write_text(WORK.format(m=3, k=4))
    before, _, _ = STUDY.partition("space:")
    (tmp_path / "study.yaml").write_text(f"{before}space:\n  {knob}: {{values: [4]}}\n")
    with pytest.raises(SpecError, match=words):
        preflight(load_study(tmp_path / "study.yaml"))


EXECUTED = """\
name: pair
question: which
seed: 1
arch: {file: wafer_grid}
workloads: [{file: small.yaml}, {file: large.yaml}]
model: simulated
objectives: [energy]
space:
  arch.variables.GridX: {values: [1, 4]}
  mapping.*.tile: {values: [none]}
"""


def test_a_design_is_refused_for_the_workload_that_does_not_fit(tmp_path):
    for name, (m, k) in {"small": (4, 4), "large": (40, 2000)}.items():
        (tmp_path / f"{name}.yaml").write_text(WORK.format(m=m, k=k).replace("All: 8", "All: 32"))
    (tmp_path / "study.yaml").write_text(EXECUTED)
    spec = load_study(tmp_path / "study.yaml")
    model = make_evaluator(spec)
    assert has_check(model)
    with pytest.raises(NoFeasibleMapping, match=r"^large: no mapping of C fits the grid"):
        model.evaluate(asking_for_check(spec.space.point((0, 0))))
    assert model.evaluate(asking_for_check(spec.space.point((1, 0)))).reason is None
