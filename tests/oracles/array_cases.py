"""Random small designs: memories spread over the grid of an Array, and hierarchies out of order."""

from __future__ import annotations

import random

from search_cases import container, memory, random_workload, zero

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload_loading import load_workload

ANY = "keep: Nothing, may_keep: All"
EINSUMS = (
    "Z[m, n] = A[m, k] * B[k, n]",
    "Z[m] = A[m, k] * B[k]",
    "Z[m, n] = A[m, n] * B[n]",
    "Z[p] = A[W: p + r] * B[r]",
)


def array_space_of(seed: int) -> Mapspace:
    """Return a small mapspace with one or two memories that are spread over a grid of lanes."""
    rng = random.Random(seed)
    return _space(rng, _array_arch(rng), rng.choice(("default", "default", "accelforge")))


def loose_space_of(seed: int) -> Mapspace:
    """Return a small mapspace of memories on both sides of lanes, in any order of holders."""
    rng = random.Random(seed)
    return _space(rng, _loose_arch(rng), "default")


def half_places_space_of(size: int) -> Mapspace:
    """Return a mapspace with a memory of one place along x, which AccelForge takes for a half."""
    text = (
        "arch:\n  nodes:\n"
        "  - !Memory {name: DRAM, size: inf, area: 0, leak_power: 0, tensors: {keep: All}, actions:"
        " [{name: read, energy: 50, throughput: 4}, {name: write, energy: 50, throughput: 4}]}\n"
        "  - !Array {name: GRID, spatial: [{name: x, fanout: 4}, {name: y, fanout: 2}], nodes:"
        f" [!Memory {{name: LOCAL, size: {size}, area: 0, leak_power: 0, tensors: {{keep: All}},"
        " spatial: [{name: x, fanout: 1}, {name: y, fanout: 2}], actions:"
        " [{name: read, energy: 3, throughput: 8}, {name: write, energy: 4, throughput: 8}]}]}\n"
        "  - !Compute {name: MAC, area: 0, leak_power: 0, actions: [{name: compute, energy: 1,"
        " throughput: 1}]}\n"
    )
    workload = load_workload(
        "workload:\n  rank_sizes: {M: 2, K: 4}\n  bits_per_value: {All: 1}\n"
        '  einsums: ["Z[m] = A[m, k] * B[k]"]\n'
    )
    (flat,) = flatten(load_arch(text), workload.scope(workload.einsums[0]))
    return Mapspace(workload.einsums[0], flat, "accelforge")


def _space(rng: random.Random, arch: str, conventions: str) -> Mapspace:
    workload = load_workload(random_workload(rng, rng.choice(EINSUMS)))
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch(arch), workload.scope(einsum))
    return Mapspace(einsum, flat, conventions)


def _array_arch(rng: random.Random) -> str:
    lines = ["arch:", "  nodes:"]
    lines += memory("DRAM", "inf", "keep: All", rng, 50)
    dims = [(name, rng.choice((2, 4))) for name in ("x", "y")[: rng.choice((1, 1, 2))]]
    extra = [rng.choice(("", "", ", may_reuse: Nothing", ", min_usage: 1")) for _ in dims]
    gate = rng.choice(("", "", ", power_gateable: true"))
    grid = [f"{{name: {n}, fanout: {f}{e}{gate}}}" for (n, f), e in zip(dims, extra, strict=True)]
    lines += ["  - !Array", "    name: GRID", f"    spatial: [{', '.join(grid)}]", "    nodes:"]
    lines += _spread("BUF", rng.choice((16, 32, 64)), dims, rng)
    if rng.random() < 0.3:
        hop = f"energy: {rng.randrange(1, 9)}, throughput: {rng.choice((0.05, 1, 4))}"
        topology = rng.choice(("mesh", "mesh", "all_to_all"))
        lines += ["    - !Network", "      name: NET", *(f"  {line}" for line in zero())]
        lines += [f"      topology: {topology}"]
        lines += [f"      actions: [{{name: hop, {hop}, latency: {rng.choice((0, 1, 20))}}}]"]
    elif rng.random() < 0.3:
        lines += _spread("SIDE", rng.choice((8, 16)), dims, rng)
    if rng.random() < 0.4:
        lines += memory("REG", str(rng.choice((8, 16))), rng.choice(("keep: output", ANY)), rng, 1)
    lines += ["  - !Compute", "    name: MAC", *zero()]
    lines += ["    actions: [{name: compute, energy: 0.5, throughput: 1}]"]
    return "\n".join(lines) + "\n"


def _spread(name: str, size: int, dims: list[tuple[str, int]], rng: random.Random) -> list[str]:
    rules = rng.choice(("keep: All", "keep: input", ANY))
    places = [f"{{name: {n}, fanout: {rng.choice((1, 2, f))}}}" for n, f in dims]
    own = memory(name, str(size), rules, rng, 5)
    return [*("  " + line for line in own), f"      spatial: [{', '.join(places)}]"]


def _loose_arch(rng: random.Random) -> str:
    lines = ["arch:", "  nodes:"]
    lines += memory("DRAM", "inf", rng.choice(("keep: All", "keep: input, may_keep: All")), rng, 50)
    kept = rng.choice(("keep: All", "keep: input", ANY))
    size = rng.choice((16, 32, 64, 96))
    free = rng.choice(("", *[", force_memory_hierarchy_order: false"] * 4))
    lines += memory("BUF", str(size), kept + free, rng, 5)
    lines += container(rng)
    rules = rng.choice(("keep: output", "keep: weight", ANY))
    lines += memory("REG", str(rng.choice((8, 16, 24, 48))), rules + free, rng, 1)
    if rng.random() < 0.3:
        lines += [line.replace("PE", "ALU") for line in container(rng)]
        lines += memory("RF", str(rng.choice((8, 16))), "keep: output" + free, rng, 1)
    lines += ["  - !Compute", "    name: MAC", *zero()]
    lines += [f"    actions: [{{name: compute, energy: 0.5, throughput: {rng.choice((1, 4))}}}]"]
    return "\n".join(lines) + "\n"
