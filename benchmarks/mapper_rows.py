"""The cases of the mapper's speed page: designs, workloads, objectives and goals."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_print import dump_workload

HERE = Path(__file__).resolve().parent
MATMUL = """\
workload:
  rank_sizes: {{M: {m}, K: {k}, N: {n}}}
  bits_per_value: {{All: 8}}
  einsums:
  - {{einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {{input: A, weight: B, output: Z}}}}
"""
CONVOLUTION = """\
workload:
  rank_sizes: {N: 1}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "T1[p, q, n, m] = I1[n, c, H: p + r, W: q + s] * W1[r, s, c, m]"
    iteration_space_shape:
    - 0 <= p < 56
    - 0 <= q < 56
    - 0 <= c < 64
    - 0 <= m < 64
    - 0 <= r < 3
    - 0 <= s < 3
    renames: {output: T1, input: I1, weight: W1}
"""
PREFILL = {"BATCH_SIZE": 1, "DECODE": False, "N_NEW_TOKENS": 2048}
DECODE = {"BATCH_SIZE": 1, "DECODE": True, "N_NEW_TOKENS": 1, "N_CACHED_TOKENS": 2047}


@dataclass(frozen=True)
class Row:
    """One case. `arch` and `workload`: text, or a file below the examples; `variables` of both;
    `without`: Einsums left out; `goal`: seconds of search alone; `ratio`: goal of the speed-up.
    """

    name: str
    arch: str
    workload: str
    objective: str = "energy"
    variables: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    goal: float | None = None
    ratio: float | None = None
    note: str = ""  # why the values differ
    quoted: str = ""  # AccelForge's seconds from elsewhere, where it was not run here


def matmul(m: int, k: int, n: int) -> str:
    """Return one matmul of 8-bit values."""
    return MATMUL.format(m=m, k=k, n=n)


TPU = "arches/tpu_v4i.yaml"
GPT = "workloads/transformers/gpt/gpt3_{}.yaml"
THREE = "workloads/basic/matmuls.yaml"
OWN = (HERE / "designs/weight_stationary.yaml").read_text(encoding="utf-8")
NOT_OPTIMAL = (
    "Its search drops mappings that are better in its own model (lattice.md §9): the mapping"
    " found here is scored by the model, which reproduces AccelForge's numbers."
)
SIMPLE = {"MainMemoryEnergy": 100, "GlobalBufferSize": 256 * 1024 * 1024}


def rows() -> list[Row]:
    """Return all cases in the order of the page."""
    single = [
        Row(f"tpu_matmul_{size}_{objective}", TPU, matmul(size, size, size), objective,
            goal=0.05, ratio=100)
        for size in (128, 1024, 8192)
        for objective in ("energy", "latency", "edp")
    ]  # fmt: skip
    return [
        *single,
        Row("tpu_projection_175B", TPU, matmul(2048, 12288, 12288), goal=0.1, ratio=80),
        Row("tpu_small_buffers", "tpu_small", matmul(1000, 3000, 700), goal=0.5, ratio=20,
            note=NOT_OPTIMAL),
        Row("tpu_three_matmuls", TPU, "workloads/basic/three_matmuls_annotated.yaml",
            goal=0.5, ratio=40),
        Row("eyeriss_three_matmuls", "eyeriss", THREE, variables={"N_EINSUMS": 3}, ratio=40),
        Row("simba_three_matmuls", "simba", THREE, variables={"N_EINSUMS": 3}, ratio=40),
        Row("weight_stationary_resnet18_1", OWN, CONVOLUTION, ratio=40),
        Row("eyeriss_resnet18_1", "eyeriss", CONVOLUTION, ratio=40, quoted="> 150"),
        Row("snowcat_mobilenet_28", "arches/snowcat.yaml",
            "workloads/cnns/mobilenet/mobilenet_28.yaml", ratio=40),
        Row("simple_gpt3_175B_prefill", "arches/simple.yaml", GPT.format("175B"),
            variables=PREFILL, ratio=20),
        Row("simple_bound_gpt3_6.7B_prefill", "arches/simple.yaml", GPT.format("6.7B"),
            variables={**PREFILL, **SIMPLE}, without=("I",), goal=3.0),
        Row("tpu_gpt3_6.7B_decode", TPU, GPT.format("6.7B"), variables=DECODE,
            goal=3.0, ratio=40),
        Row("tpu_gpt3_6.7B_prefill", TPU, GPT.format("6.7B"), variables=PREFILL,
            goal=5.0, ratio=40, quoted="239 (two processes)"),
        Row("tpu_llama3_8B_prefill", TPU, "workloads/transformers/llama/llama3_8B.yaml",
            variables=PREFILL, goal=10.0, quoted="> 200"),
        Row("eyeriss_gpt3_6.7B_prefill", "eyeriss", GPT.format("6.7B"), variables=PREFILL,
            goal=10.0, quoted="> 150"),
    ]  # fmt: skip


def files_of(row: Row, examples: Path, folder: Path) -> tuple[Path, Path]:
    """Return the files of a case; texts and designs with fixed costs are written to `folder`."""
    workload = _file(row.workload, examples, folder / "workload.yaml")
    if row.without:
        workload = _shortened(row, workload, folder / "workload.yaml")
    return _arch(row.arch, examples, folder / "arch.yaml"), workload


def _shortened(row: Row, given: Path, target: Path) -> Path:
    """Write a workload without some of its Einsums: what they wrote is an input there."""
    work = load_workload(given, variables=row.variables)
    kept = tuple(e for e in work.einsums if e.name not in row.without)
    target.write_text(dump_workload(replace(work, einsums=kept)), encoding="utf-8")
    return target


def _file(given: str, examples: Path, target: Path) -> Path:
    if "\n" not in given:
        return examples / given
    target.write_text(given, encoding="utf-8")
    return target


def _arch(given: str, examples: Path, target: Path) -> Path:
    if given == "tpu_small":
        text = (examples / TPU).read_text(encoding="utf-8")
        text = text.replace("1024*1024*128*8", "2*1024*1024*8")
        text = text.replace("1024*1024*4*8", "64*1024*8")
        return _file(text.replace(", min_usage: 1", ""), examples, target)
    if given in {"eyeriss", "simba"}:
        costs = json.loads((examples / "resolved_example_component_costs.json").read_text())
        text = (examples / f"arches/{given}.yaml").read_text(encoding="utf-8")
        return _file(with_costs(text, costs[given]), examples, target)
    return _file(given, examples, target)


def with_costs(text: str, costs: dict[str, Any]) -> str:
    """Return a design with fixed figures instead of classes whose costs are estimated."""
    root = yaml.compose(text)
    arch = root.value[0][1]
    arch.value = [pair for pair in arch.value if pair[0].value == "nodes"]
    for node in arch.value[0][1].value:
        name = next(value.value for key, value in node.value if key.value == "name")
        if name in costs:
            node.value = [*_kept(node), *_pairs(costs[name])]
    return yaml.serialize(root, width=100)


def _kept(node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
    estimated = ("component_class", "extra_attributes_for_component_model", "actions")
    return [pair for pair in node.value if pair[0].value not in estimated]


def _pairs(costs: dict[str, Any]) -> list[tuple[yaml.Node, yaml.Node]]:
    actions = []
    for name, figures in costs["actions"].items():
        action = {"name": name, "energy": figures["energy"], "throughput": figures["throughput"]}
        if figures["bits_per_action"] is not None:
            action["bits_per_action"] = figures["bits_per_action"]
        actions.append(action)
    fixed = {"leak_power": costs["leak_power"], "area": costs["area"], "actions": actions}
    node = yaml.compose(yaml.safe_dump(fixed))
    pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
    return pairs
