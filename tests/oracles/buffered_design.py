"""One small design with a buffer, lanes and a register, and matmuls in a chain to put on it."""

from __future__ import annotations

from nodes import arch_text, lanes, mac, memory

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = arch_text(
    memory("DRAM", "inf", 'keep: "~Intermediates", may_keep: All', (100, 16), (110, 8)),
    memory("BUF", 1024, 'keep: "~DRAM", may_keep: All', (5, 256), (6, 128)),
    lanes("PE", "x", 8),
    memory("REG", 16, "keep: weight", (1, "inf")),
    mac(0.5),
)


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
