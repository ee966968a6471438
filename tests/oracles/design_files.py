"""Small architectures, workloads and mappings as files, and runs of the command line on them."""

from __future__ import annotations

from click.testing import CliRunner

from tilewright.dse.command.cli import cli
from tilewright.dse.command.shipped import studies_folder
from tilewright.dse.run.runner import RunSettings, start_study
from tilewright.dse.study.study_loading import load_study

SIMPLE_ARCH = """\
arch:
  variables: {GridX: 4, GridY: 4}
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: All}
    actions:
    - {name: read, energy: 1, latency: 0}
    - {name: write, energy: 1, latency: 0}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions:
    - {name: compute, energy: 1, latency: 1}
"""
ARCH = """\
arch:
  variables: {Lanes: 4}
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: All}
    actions:
    - {name: read, energy: 20e-12, latency: 1e-9}
    - {name: write, energy: 20e-12, latency: 1e-9}
  - !Memory
    name: Buffer
    size: 64 * 8
    leak_power: 0
    area: 1e-6
    tensors: {keep: input}
    actions:
    - {name: read, energy: 1e-12, latency: 0}
    - {name: write, energy: 1e-12, latency: 0}
  - !Container
    name: Array
    spatial:
    - {name: X, fanout: Lanes, may_reuse: input}
  - !Compute
    name: MAC
    leak_power: 0
    area: 1e-8
    actions:
    - {name: compute, energy: 0.1e-12, latency: 1e-9}
"""
WORKLOAD = """\
workload:
  rank_sizes: {T: 4, F: 8, G: 16}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "up[t, f] = tokens[t, g] * WU[g, f]"
    renames: {input: tokens, weight: WU, output: up}
"""
CHAIN = """\
workload:
  rank_sizes: {M: 4, N0: 4, N1: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "T1[m, n1] = T0[m, n0] * W0[n0, n1]", renames: {input: T0, weight: W0, output: T1}}
  - {einsum: "T2[m, n0] = T1[m, n1] * W1[n1, n0]", renames: {input: T1, weight: W1, output: T2}}
"""
SPLIT = {
    "chip": "arch:\n  nodes:\n"
    "  - !Memory {name: DRAM, size: inf, area: 0, leak_power: 0, actions: "
    "[{name: read, energy: E, throughput: inf}, {name: write, energy: E, throughput: inf}]}\n",
    "core": "variables: {E: 2}\narch:\n  nodes:\n"
    "  - !Compute {name: MAC, area: 1, leak_power: 0, "
    "actions: [{name: compute, energy: 0, throughput: 1}]}\n",
    "other": "\nvariables:\n  E: 3\n",
    "sizes": "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 1}\n",
    "work": 'workload:\n  einsums: ["Z[m] = A[m]"]\n',
    "nest": "mapping:\n  nodes:\n  - !Storage {tensors: [A, Z], component: DRAM}\n"
    "  - !Temporal {rank_variable: m, tile_shape: {{TILE}}}\n"
    "  - !Temporal {rank_variable: m, tile_shape: 1}\n"
    "  - !Compute {einsum: Z, component: MAC}\n",
}


def small_wafer_study(folder):
    """Write the shipped study of a grid of elements, its grids at most 4 x 4; return the file."""
    text = (studies_folder() / "wafer_matvec" / "study.yaml").read_text(encoding="utf-8")
    for axis in "XY":
        for shipped, small in (("{pow2: [2, 32]}", "{pow2: [2, 4]}"), ("16\n", "4\n")):
            assert f"arch.variables.Grid{axis}: {shipped}" in text
            text = text.replace(
                f"arch.variables.Grid{axis}: {shipped}", f"arch.variables.Grid{axis}: {small}"
            )
    path = folder / "wafer_small.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def run(*arguments):
    """Run the command line in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def run_here(toy, folder, settings=None, evaluator=None):
    """Run the toy study in `folder` with the toy model, or another one."""
    path = toy.write_study(folder)
    spec = load_study(path, settings)
    execution = RunSettings(evaluator=evaluator or toy.ToyModel())
    return start_study(spec, folder / "run", execution, study_file=path, settings=settings)


def log_of(folder):
    """Return the bytes of the log of the run in `folder`."""
    return (folder / "run" / "trials.jsonl").read_bytes()
