"""Random small designs with a Network above their lanes."""

from __future__ import annotations

import random

from search_cases import memory, random_workload, toll, zero

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload_loading import load_workload

EINSUMS = (
    "Z[m, n] = A[m, k] * B[k, n]",
    "Z[m] = A[m, k] * B[k]",
    "Z[m, n] = A[m, n] * B[n]",
    "Z[p] = A[W: p + r] * B[r]",
)
ANY = "keep: Nothing, may_keep: All"


def network_space_of(seed: int) -> Mapspace:
    """Return a small mapspace with one or two dimensions of lanes below a network."""
    rng = random.Random(seed)
    text = rng.choice(EINSUMS)
    arch, workload = load_arch(_arch(rng)), load_workload(random_workload(rng, text))
    conventions = rng.choice(("default", "accelforge"))
    (einsum,) = workload.einsums
    (flat,) = flatten(arch, workload.scope(einsum))
    return Mapspace(einsum, flat, conventions)


def copied_network_space_of(seed: int) -> Mapspace:
    """Return one of a copy; some lanes must all be used."""
    rng = random.Random(f"copied {seed}")
    text = rng.choice(("Y[m, k] = A[m, k]", "Y[m] = A[m]", "Y[k, m] = A[m, k]"))
    ranks = ", ".join(f"{n.upper()}: {rng.choice((2, 3, 4, 6, 8))}" for n in "mk" if n in text)
    workload = load_workload(
        f"workload:\n  rank_sizes: {{{ranks}}}\n  bits_per_value: {{All: {rng.choice((4, 8))}}}\n"
        f'  einsums:\n  - {{einsum: "{text}", is_copy_operation: true, n_instances: 2,'
        " renames: {input: A, weight: Nothing, output: Y}}\n"
    )
    usage = rng.choice(("", "", ", min_usage: 0.5", ", min_usage: 1"))
    arch = load_arch(_arch(rng).replace("{name: x,", f"{{name: x{usage},"))
    (einsum,) = workload.einsums
    (flat,) = flatten(arch, workload.scope(einsum))
    return Mapspace(einsum, flat, rng.choice(("default", "default", "accelforge")))


def _arch(rng: random.Random) -> str:
    lines = ["arch:", "  nodes:"]
    lines += memory("DRAM", "inf", "keep: All", rng, 50)
    rules = rng.choice(("keep: All", "keep: input", ANY))
    lines += memory("BUF", str(rng.choice((16, 32, 64, 128))), rules, rng, 5)
    hop = f"energy: {rng.randrange(1, 9)}, throughput: {rng.choice((0.05, 1, 4))}"
    lines += ["  - !Network", "    name: NET", *zero()]
    lines += [f"    topology: {rng.choice(('mesh', 'all_to_all'))}"]
    lines += [f"    actions: [{{name: hop, {hop}, latency: {rng.choice((0, 1, 20))}}}]"]
    lines += ["  - !Container", "    name: PE", "    spatial:"]
    for name in ("x", "y")[: rng.choice((1, 2))]:
        reuse = rng.choice(("", ", may_reuse: Nothing", ", may_reuse: input"))
        lines.append(f"    - {{name: {name}, fanout: {rng.choice((2, 3, 4))}{reuse}}}")
    lines += toll("LINK", rng) if rng.random() < 0.3 else []
    if rng.random() < 0.5:
        rules = rng.choice(("keep: output", "keep: weight", ANY))
        lines += memory("REG", str(rng.choice((8, 16, 32))), rules, rng, 1)
    lines += ["  - !Compute", "    name: MAC", *zero()]
    lines += ["    actions: [{name: compute, energy: 0.5, throughput: 1}]"]
    return "\n".join(lines) + "\n"


def uneven_network_space_of(seed: int) -> Mapspace:
    """Return one with a variable or more that may be uneven, under the default conventions."""
    rng = random.Random(seed)
    text = rng.choice(EINSUMS)
    arch = load_arch(_arch(rng))
    sizes = (2, 3, 5) if len({c for c in text if c.islower()}) > 2 else (3, 5, 7)
    workload = load_workload(random_workload(rng, text, sizes))
    (einsum,) = workload.einsums
    (flat,) = flatten(arch, workload.scope(einsum))
    names = sorted(einsum.bounds)
    uneven = frozenset(v for v in names if rng.random() < 0.6) or frozenset(names[:1])
    return Mapspace(einsum, flat, uneven=uneven)
