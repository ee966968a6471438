"""Tilewright in one sitting: run me with `python docs/tour.py`, or read me from top to bottom.

The road: architecture -> flattened graph -> workload -> mapping -> score -> best mapping with its
proof -> the best mapping on a grid of elements, executed on numbers -> a study.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from tilewright.arch import flatten, load_arch
from tilewright.dse import RunSettings, load_study, start_study
from tilewright.mapper import evaluate, load_mapping, load_workload, search
from tilewright.simulator import GridRequest, execute, map_on_grid
from tilewright.studies import path_of

# 1. Hardware is a file: a tree of components, from the outermost memory to the compute unit.
ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:                                # joule and actions per second; one action moves a bit
    - {name: read, energy: 7e-12, throughput: 8 * 64e9}
    - {name: write, energy: 7e-12, throughput: 8 * 64e9}
    leak_power: 0
    area: 0
  - !Memory
    name: Buffer
    size: 64 * 1024 * 8                     # bits; arithmetic is fine anywhere
    tensors: {keep: ~DRAM, may_keep: All}
    actions:
    - {name: read, energy: 0.4e-12, throughput: inf}
    - {name: write, energy: 0.5e-12, throughput: inf}
    leak_power: 0
    area: 1e-7
  - !Container
    name: Lanes
    spatial: [{name: L, fanout: 8}]         # eight copies of everything below
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 0.1e-12, throughput: 1e9}]
    leak_power: 0
    area: 1e-9
"""

# 2. Work is an Einsum: rank variables in lower case, ranks and their sizes in upper case.
WORKLOAD = """
workload:
  rank_sizes: {M: 64, K: 96, N: 128}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "Z[m, n] = A[m, k] * B[k, n]"
    renames: {input: A, weight: B, output: Z}
"""

# 3. A mapping says which tiles sit where and what happens in which order. Loops name the tile
# shape that one iteration handles.
MAPPING = """
mapping:
  nodes:
  - !Storage {tensors: [A, B, Z], component: DRAM}
  - !Temporal {rank_variable: m, tile_shape: 16}
  - !Storage {tensors: [A, B, Z], component: Buffer}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Temporal {rank_variable: n, tile_shape: 8}
  - !Temporal {rank_variable: k, tile_shape: 1}
  - !Spatial {rank_variable: n, tile_shape: 1, name: L, component: Lanes}
  - !Compute {einsum: Z, component: MAC}
"""


def analytical(folder: Path) -> None:
    """Score a mapping by hand, then let the mapper find the best one and prove it."""
    arch_file, workload_file, mapping_file = (
        folder / name for name in ("arch.yaml", "workload.yaml", "mapping.yaml")
    )
    arch_file.write_text(ARCH)
    workload_file.write_text(WORKLOAD)
    mapping_file.write_text(MAPPING)

    arch, workload = load_arch(arch_file), load_workload(workload_file)
    flat = flatten(arch, workload.scope("Z"))[0]
    print("components, top down:", " > ".join(component.name for component in flat.components))

    mine = load_mapping(mapping_file)
    print(mine)  # a loop nest
    score = evaluate(arch, workload, mine)
    print(f"mine: {score.energy:.3g} J, {score.latency:.3g} s")
    print(f"reads of A in Buffer: {score.actions['Z/Buffer/A/read']} bits")

    found = search(arch, workload, objective="energy")
    best = found.best.score
    print(f"best: {best.energy:.3g} J, {best.latency:.3g} s ({found.certificate})")
    assert best.energy <= score.energy

    # A larger buffer never hurts: a design is a value, a change is a new one.
    larger = search(arch.with_values({"Buffer.size": 512 * 1024 * 8}), workload)
    assert larger.best.score.energy <= best.energy


def executed() -> None:
    """Search on a grid of elements with the machine in the loop; every result equals numpy."""
    arch = load_arch(path_of("hardware", "wafer_grid")).with_values(
        {"variables.GridX": 4, "variables.GridY": 2}
    )
    workload = load_workload(path_of("workloads", "llama_projections"), variables={"SCALE": 64})
    answer = map_on_grid(arch, workload, GridRequest(objective="latency"))
    print(answer.mapping)
    for name, result in answer.results.items():
        print(f"{name}: {result.certificate}")  # optimal: 3 executed, 124 excluded by the bound

    # The same mapping on numbers of yours; what an Einsum computes is an operand of the next.
    x = np.ones(64, dtype=np.float32)
    run = execute(arch, workload, answer.mapping, operands={"x": x})
    assert np.allclose(run.values["key"], run.values["WK"].sum(axis=0), atol=1e-4)
    print(f"{run.cycles} cycles, {run.energy:.3g} J")
    # Reads, writes, operations and hops of the machine are those that the model predicts.
    assert run.counts == run.predicted


def studied(folder: Path) -> None:
    """Let Optuna propose designs; every one is recorded, also one that could not be built."""
    study = load_study(path_of("studies", "wafer_matvec"), {"search.trials": 3, "SCALE": 64})
    result = start_study(study, folder / "run", RunSettings(workers=1))
    built = [trial for trial in result.trials if trial.status == "feasible"]
    print(
        f"{len(result.trials)} trials, {len(built)} could be built, "
        f"{len(result.front['front'])} designs on the Pareto front"
    )
    assert (folder / "run" / "report.html").exists()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        analytical(folder)
        executed()
        studied(folder)


if __name__ == "__main__":
    main()
