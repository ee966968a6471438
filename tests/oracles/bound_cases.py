"""Random small designs whose lanes are bounded in every way that a file can say."""

from __future__ import annotations

import random

from search_cases import memory, random_workload, zero

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
OPERATORS = ("==", "<=", ">=", "<", ">")
SETS = ("output", "~output", "weight", "input", "~weight", "All")


def bound_space_of(seed: int) -> Mapspace:
    """Return a small mapspace with one or two dimensions of lanes, and bounds on their loops."""
    rng = random.Random(f"bounds {seed}")
    text = rng.choice(EINSUMS)
    lines = ["arch:", "  nodes:", *memory("DRAM", "inf", "keep: All", rng, 50)]
    kept = rng.choice(("keep: All", "keep: Nothing, may_keep: All"))
    lines += memory("BUF", str(rng.choice((64, 96, 320))), kept, rng, 5)
    lines += ["  - !Container", "    name: PE", "    spatial:"]
    names = sorted({c for c in text if c.islower()})
    for name in ("x", "y")[: rng.choice((1, 2, 2))]:
        lines.append(f"    - {{{', '.join(_dim(name, names, rng))}}}")
    if rng.random() < 0.4:
        lines += memory("REG", str(rng.choice((8, 24))), "keep: Nothing, may_keep: All", rng, 1)
    lines += ["  - !Compute", "    name: MAC", *zero()]
    lines += [f"    actions: [{{name: compute, energy: 0.5, throughput: {rng.choice((1, 4))}}}]"]
    workload = load_workload(random_workload(rng, text, (2, 3, 4)))
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch("\n".join(lines) + "\n"), workload.scope(einsum))
    return Mapspace(einsum, flat, rng.choice(("default", "accelforge")))


def _dim(name: str, names: list[str], rng: random.Random) -> list[str]:
    fields = [f"name: {name}", f"fanout: {rng.choice((2, 3, 4, 6))}"]
    extra = rng.choice(("", "", "may_reuse: All", "reuse: input", "reuse: output", "min_usage: 1"))
    bounds = [_bound(names, rng) for _ in range(rng.choice((0, 1, 1, 2)))]
    fields += [extra] if extra else []
    return [*fields, f"loop_bounds: [{', '.join(bounds)}]"] if bounds else fields


def _bound(names: list[str], rng: random.Random) -> str:
    either = f"{rng.choice(SETS)}.rank_variables"
    target = rng.choice((either, either, rng.choice(names), rng.choice(SETS)))
    operator = rng.choice(("", "product")) + rng.choice(OPERATORS)
    value = rng.choice((1, 1, 2, 2, 3, 4))
    return f"{{expression: {target}, operator: '{operator}', value: {value}}}"
