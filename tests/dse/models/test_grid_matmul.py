"""Products on a grid of cores: layouts, time, cascades, and why a design cannot be built."""

from __future__ import annotations

import json

import pytest
from design_files import run

from tilewright.arch.errors import SpecError
from tilewright.dse.command.shipped import shipped_studies
from tilewright.dse.models.evaluators import METRICS, make_evaluator
from tilewright.dse.models.grid_matmul import GridMatmulEvaluator
from tilewright.dse.study.study import StudyInput
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.layout.costs.reshard_time import reshard_time
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor
from tilewright.mapper.layout.tiling import Tiling, number_format
from tilewright.mapper.workload.errors import InfeasibleMapping

CASCADE = """
workload:
  rank_sizes: {M: 1024, A: 1024, B: 1024, C: 1024}
  bits_per_value: {All: 16}
  einsums:
  - einsum: "H[m, b] = X[m, a] * U[a, b]"
    renames: {input: X, weight: U, output: H}
  - einsum: "Y[m, c] = H[m, b] * V[b, c]"
    renames: {input: H, weight: V, output: Y}
"""
BLOCKS = {"mapping.*.rows": 8, "mapping.*.columns": 8}


@pytest.fixture
def cascade(tmp_path):
    (tmp_path / "workload.yaml").write_text(CASCADE)
    return GridMatmulEvaluator(
        StudyInput("wormhole", {}), StudyInput(str(tmp_path / "workload.yaml"), {})
    )


def test_the_study_reports_the_published_figure_beside_its_best_design(tmp_path):
    """Every design is tried; the best is the grid of the published row, 3.9 % below its cycles."""
    done = run("study", "run", "tenstorrent_matmul", "--workers", "1", "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert "rows 8, columns 8" in done.output
    assert "Published: manually tuned on N150" in done.output
    assert "292,604 cycles; best design 281,230 cycles, 3.9 % lower" in done.output
    report = (tmp_path / "run" / "report.html").read_text()
    assert "292,604 cycles" in report
    assert "\\u003csvg" in report


def test_metrics_and_pictures(cascade):
    outcome = cascade.evaluate(BLOCKS)
    assert set(outcome.metrics) == set(METRICS["grid_matmul"])
    assert outcome.metrics["reshard_cycles"] == 0
    assert outcome.metrics["latency"] == outcome.metrics["cycles"] / 1e9
    assert 0 < outcome.metrics["utilization"] < 1
    first, second = outcome.details["sections"]
    assert list(first["pictures"]) == ["X", "H", "memory of a core"]
    assert list(second["pictures"]) == ["H", "Y", "memory of a core"]
    assert "split      grid 8 × 8" in first["loop_nest"]
    json.dumps(outcome.details, allow_nan=False)


def test_the_breakdown_says_what_binds_in_each_product(cascade):
    outcome = cascade.evaluate({**BLOCKS, "mapping.Y.rows": 32, "mapping.Y.columns": 1})
    parts = outcome.breakdown
    assert set(parts) == {"cycles", "latency", "core_bits"}
    assert sum(parts["cycles"].values()) == pytest.approx(outcome.metrics["cycles"], rel=1e-12)
    assert parts["cycles"]["Y.reshard"] == outcome.metrics["reshard_cycles"] > 0
    assert sum(parts["core_bits"].values()) == outcome.metrics["core_bits"]
    for name, section in zip(("H", "Y"), outcome.details["sections"], strict=True):
        slowest = section["facts"]["slowest"]
        times = {k: v for k, v in parts["latency"].items() if k.startswith(f"{name}.")}
        assert max(times, key=times.get) == f"{name}.{slowest}"
        assert f"{name}.{slowest}" in parts["cycles"]


def test_parts_of_one_product_have_plain_names():
    model = make_evaluator(load_study(shipped_studies()["tenstorrent_matmul"]))
    choices = {"rows": 8, "columns": 8, "storage": "cores", "inner_block": 4}
    outcome = model.evaluate({f"mapping.product.{name}": choices[name] for name in choices})
    assert set(outcome.breakdown["cycles"]) == {"start", "matrix unit"}
    assert outcome.breakdown["core_bits"]["result"] == 131_072 * 8


def test_a_cascade_pays_for_the_reshard_between_its_grids(cascade):
    """H is made in 32 cores by rows and read in 8 × 8 blocks."""
    rows = {"mapping.H.rows": 32, "mapping.H.columns": 1}
    point = {**rows, "mapping.Y.rows": 8, "mapping.Y.columns": 8}
    machine = load_machine("wormhole")
    tensor = ShardedTensor(
        (1024, 1024), machine.units, Tiling((32, 32), number_format("bf16"), "hardware")
    )
    cycles = reshard_time(tensor.on_grid(32, 1), tensor.on_grid(8, 8), machine).cycles
    outcome = cascade.evaluate(point)
    assert outcome.metrics["reshard_cycles"] == cycles > 1000
    far = cascade.evaluate({**point, "mapping.Y.storage": "dram"})
    assert far.metrics["reshard_cycles"] == 0
    assert far.metrics["dram_traffic"] > outcome.metrics["dram_traffic"]


def test_a_number_of_the_machine_is_a_knob(cascade):
    slow = cascade.evaluate({**BLOCKS, "arch.rates.core_multicast_bytes_per_cycle": 1})
    assert slow.metrics["cycles"] > 2 * cascade.evaluate(BLOCKS).metrics["cycles"]
    with pytest.raises(SpecError, match=r"no number rates\.core"):
        cascade.evaluate({**BLOCKS, "arch.rates.core": 1})


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({**BLOCKS, "mapping.*.rows": 16}, "a block sharding of 16 x 8"),
        ({"mapping.*.rows": 64}, "X: phantom: 32 of 64 cells hold no data"),
        ({"mapping.*.rows": 1}, "X: capacity: a unit needs 2097152 bytes"),
        ({"mapping.*.rows": 2}, "each core of wormhole: step 0 has blocks of operand 0"),
        ({**BLOCKS, "mapping.*.element": "f16", "mapping.*.fidelity": "hifi"}, "unknown fidelity"),
    ],
)
def test_what_cannot_be_built_says_why(cascade, point, words):
    with pytest.raises((InfeasibleMapping, SpecError), match=words):
        cascade.evaluate(point)


def test_the_study_names_its_model():
    spec = load_study(shipped_studies()["tenstorrent_matmul"])
    assert isinstance(make_evaluator(spec), GridMatmulEvaluator)
    assert spec.published[0].value == pytest.approx(292_604, abs=1)
