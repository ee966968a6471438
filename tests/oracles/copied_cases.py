"""Random small workloads with copies on two or three memories."""

from __future__ import annotations

import random

from fused_cases import network, three_memories, three_text, two_memories, two_text
from search_cases import random_arch

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

FORMS = (
    # in the middle; at the start, of what two read; at the end; twice; beside what stays on chip
    ("Y[m, n] = A[m] * B[n]", "copy X[m, n] = Y[m, n]", "Z[n] = X[m, n] * C[m]"),
    ("copy X[m, n] = A[m, n]", "V[m] = X[m, n] * B[n]", "Z[n] = X[m, n] * V[m]"),
    ("Y[m, n] = A[m, k] * B[k, n]", "copy Z[m, n] = Y[m, n]"),
    ("copy X[m, n] = A[m, n]", "copy W[m, n] = X[m, n]", "Z[m] = W[m, n] * C[n]"),
    ("Y[m, n] = A[m] * B[n]", "copy X[m, n] = Y[m, n]", "Z[m, n] = X[m, n] * Y[m, n]"),
    ("Y[m] = A[m, k] * B[k]", "copy X[m] = Y[m]", "Z[m, n] = X[m] * C[n]"),
    ("Y[m] = A[m, k] * B[k]", "copy X[m] = D[m]", "Z[m] = X[m] * Y[m]"),
    ("Y[m] = A[m, k] * B[k]", "copy X[m] = A2[m]", "V[m] = Y[m] * C[m]", "Z[m] = X[m] * V[m]"),
)


def workload_with_copies(texts: tuple[str, ...], sizes: dict[str, int], bits: int = 1) -> Workload:
    """Write Einsums `output[…] = input[…] * weight[…]` and `copy output[…] = input[…]`."""
    ranks = ", ".join(f"{name.upper()}: {size}" for name, size in sizes.items())
    lines = ["workload:", f"  rank_sizes: {{{ranks}}}", f"  bits_per_value: {{All: {bits}}}"]
    lines.append("  einsums:")
    for written in texts:
        copied, text = written.startswith("copy "), written.removeprefix("copy ")
        output, right = (part.strip() for part in text.split("="))
        read = [part.split("[")[0] for part in right.split(" * ")]
        weight = "Nothing" if copied else read[1]
        lines.append(f'  - einsum: "{text}"')
        lines.append(f"    is_copy_operation: {str(copied).lower()}")
        names = f"input: {read[0]}, weight: {weight}, output: {output.split('[')[0]}"
        lines.append(f"    renames: {{{names}}}")
    return load_workload("\n".join(lines) + "\n")


READ_TWICE = workload_with_copies(
    ("copy I[m, n] = A[m, n]", "Y[m] = I[m, n] * B[n]", "Z[n] = I[m, n] * C[m]"), {"m": 4, "n": 6}
)
BETWEEN = workload_with_copies(
    ("Y[m, n] = A[m, k] * B[k, n]", "copy X[m, n] = Y[m, n]", "Z[m, n] = X[m, n] * C[n]"),
    {"m": 4, "k": 4, "n": 4},
    4,
)


def random_copied_case(seed: int, conventions: str = "") -> tuple[Arch, Workload, str]:
    """Return a design with a small buffer and a workload with a copy or two."""
    rng = random.Random(f"copied {seed}")
    texts = rng.choice(FORMS)
    names = sorted({c for text in texts for c in text.removeprefix("copy ") if c.islower()})
    sizes = {name: rng.choice((2, 2, 3, 4)) for name in names}
    size, outer = rng.choice((2, 3, 4, 5, 6, 8, 10, 12, 16)), rng.choice((5, 50))
    order = ", tensor_order_options: [[output, input]]"
    rules = rng.choice(("", "", "", ", no_refetch_from_above: input", order))
    arch = two_memories(size, outer, 1, rules, rng.choice((0, 0, 2)))
    return (
        arch,
        workload_with_copies(texts, sizes),
        conventions or rng.choice(("default", "accelforge")),
    )


def random_deep_copied_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return the same with registers, which keep what is written or what is read."""
    rng = random.Random(f"deep copied {seed}")
    texts = rng.choice(FORMS[:3] + FORMS[4:6])
    names = sorted({c for text in texts for c in text.removeprefix("copy ") if c.islower()})
    sizes = {name: rng.choice((2, 2, 3)) for name in names}
    arch = three_memories(rng.choice((2, 3, 4, 6, 8)), 3, rng.choice(("output", "input", "weight")))
    return arch, workload_with_copies(texts, sizes), rng.choice(("default", "accelforge"))


def random_sent_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return the same with lanes behind a network."""
    rng = random.Random(f"sent {seed}")
    texts = rng.choice(FORMS[:3] + FORMS[4:6])
    names = sorted({c for text in texts for c in text.removeprefix("copy ") if c.islower()})
    sizes = {name: rng.choice((2, 2, 3)) for name in names}
    hop = f"energy: {rng.randrange(1, 9)}, throughput: {rng.choice((0.05, 1, 4))}"
    hop += f", latency: {rng.choice((0, 1, 20))}"
    lanes = (
        network("NOC", rng.choice(("mesh", "all_to_all")), hop)
        + "  - !Container\n    name: PE\n"
        + f"    spatial: [{{name: z, fanout: {rng.choice((2, 4))}}}]\n"
    )
    kept = rng.choice(("output", "input", "weight", "input | output"))
    text = three_text(rng.choice((2, 3, 4, 6, 8)), 3, kept)
    place = text.index("  - !Memory\n    name: REG")
    arch = load_arch(text[:place] + lanes + text[place:])
    return arch, workload_with_copies(texts, sizes), rng.choice(("default", "accelforge"))


def random_spread_copied_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with lanes above the buffer or on it, in some behind a network, in some with
    more lanes below, and registers."""
    rng = random.Random(f"copied spread {seed}")
    texts = rng.choice(FORMS)
    names = sorted({c for text in texts for c in text.removeprefix("copy ") if c.islower()})
    few = len(names) < 3
    sizes = {name: rng.choice((2, 2, 3, 4) if few else (2, 2, 3)) for name in names}
    nets = []
    for name in ("NOP", "NOC"):
        hop = f"energy: {rng.randrange(1, 9)}, throughput: {rng.choice((0.05, 1, 4))}"
        topology = rng.choice(("mesh", "all_to_all"))
        nets.append(network(name, topology, f"{hop}, latency: {rng.choice((0, 1, 20))}"))
    second = ", {name: y, fanout: 2}" * (few and rng.random() < 0.4)
    dims = f"    spatial: [{{name: x, fanout: {rng.choice((2, 2, 3, 4))}}}{second}]\n"
    text = two_text(rng.choice((2, 3, 4, 6, 8, 12)), (rng.choice((5, 50)), 1), rng.choice((0, 2)))
    memory = "  - !Memory\n    name: BUF\n"
    tile = "  - !Container\n    name: TILE\n" + dims
    upper = memory + dims if rng.random() < 0.25 else tile + memory
    text = text.replace(memory, nets[0] * (seed % 3 == 1) + upper)
    if few and rng.random() < 0.4:
        low = "  - !Container\n    name: PE\n    spatial: [{name: z, fanout: 2}]\n"
        text = text.replace("  - !Compute", nets[1] * (seed % 4 == 2) + low + "  - !Compute")
    return (
        load_arch(text),
        workload_with_copies(texts, sizes),
        rng.choice(("default", "accelforge")),
    )


def copied_space_of(seed: int) -> Mapspace:
    """Return the mapspace of a copy on a random design, tile_shape and Tolls among its fields."""
    rng = random.Random(f"copy {seed}")
    text = rng.choice(("Y[m, k] = A[m, k]", "Y[m] = A[m]", "Y[k, m] = A[m, k]"))
    ranks = ", ".join(f"{n.upper()}: {rng.choice((2, 3, 4, 6))}" for n in "mk" if n in text)
    workload = load_workload(
        f"workload:\n  rank_sizes: {{{ranks}}}\n  bits_per_value: {{All: {rng.choice((4, 8))}}}\n"
        f'  einsums:\n  - {{einsum: "{text}", is_copy_operation: true, n_instances: 2,'
        " renames: {input: A, weight: Nothing, output: Y}}\n"
    )
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch(random_arch(rng)), workload.scope(einsum))
    return Mapspace(einsum, flat, rng.choice(("default", "accelforge")))
