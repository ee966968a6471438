"""One small design with a buffer, lanes and a register, and matmuls in a chain to put on it."""

from __future__ import annotations

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0
    tensors: {keep: "~Intermediates", may_keep: All}
    actions: [{name: read, energy: 100, throughput: 16}, {name: write, energy: 110, throughput: 8}]
  - !Memory
    name: BUF
    size: 1024
    area: 0
    leak_power: 0
    tensors: {keep: "~DRAM", may_keep: All}
    actions: [{name: read, energy: 5, throughput: 256}, {name: write, energy: 6, throughput: 128}]
  - !Container
    name: PE
    spatial: [{name: x, fanout: 8}]
  - !Memory
    name: REG
    size: 16
    area: 0
    leak_power: 0
    tensors: {keep: weight}
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 0.5, throughput: 1}]
"""


def arch(**values: object) -> Arch:
    return load_arch(ARCH).with_values({k.replace("__", "."): v for k, v in values.items()})


def chain(*sizes: int, m: int = 8) -> Workload:
    """Multiply a matrix of `m` rows through weights of the given sizes."""
    ranks = ", ".join(f"N{i}: {size}" for i, size in enumerate(sizes))
    lines = [f"workload:\n  rank_sizes: {{M: {m}, {ranks}}}\n  bits_per_value: {{All: 8}}"]
    lines.append("  einsums:")
    for i in range(len(sizes) - 1):
        text = f"T{i + 1}[m, n{i + 1}] = T{i}[m, n{i}] * W{i}[n{i}, n{i + 1}]"
        lines.append(f'  - einsum: "{text}"')
        lines.append(f"    renames: {{input: T{i}, weight: W{i}, output: T{i + 1}}}")
    return load_workload("\n".join(lines) + "\n")
