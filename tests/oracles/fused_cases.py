"""Random small workloads of 2 to 4 Einsums on two memories."""

from __future__ import annotations

import random
from collections.abc import Callable

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

Case = Callable[[int], tuple[Arch, Workload, str]]
CHAINS = (
    ("Y[m, n] = A[m, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]"),
    ("Y[m, n] = A[m, n] * B[n]", "X[m, p] = Y[m, n] * C[n, p]", "Z[m] = X[m, p] * D[p]"),
    ("Y[m] = A[m, k] * B[k]", "X[m, n] = Y[m] * C[n]", "Z[n] = X[m, n] * D[m]"),
)
DAGS = (
    # two consumers; an input of all; a tensor live across another Einsum; a diamond
    ("Y[m, n] = A[m, n] * B[n]", "X[m, n] = Y[m, n] * C[n]", "Z[m, n] = X[m, n] * Y[m, n]"),
    ("Y[m, n] = A[m] * B[n]", "X[m] = Y[m, n] * C[n]", "Z[n] = Y[m, n] * D[m]"),
    ("Y[m, n] = A[m] * B[n]", "X[m, n] = Y[m, n] * B[n]", "Z[m] = X[m, n] * B[n]"),
    ("Y[m] = A[m, k] * B[k]", "X[n] = A2[n, k] * B[k]", "Z[m, n] = Y[m] * X[n]"),
    (
        "Y[m] = A[m, k] * B[k]",
        "X[m, n] = Y[m] * C[n]",
        "V[m, n] = X[m, n] * Y[m]",
        "Z[m] = V[m, n] * C[n]",
    ),
    ("Y[m] = A[m] * B[m]", "X[m] = Y[m] * C[m]", "V[m] = Y[m] * D[m]", "Z[m] = X[m] * V[m]"),
)

HALOS = (
    # an input slides; what is exchanged does; both; one with channels; a stride; one input of two
    ("Y[p] = A[W: p + r] * F[r]", "Z[p, n] = Y[p] * C[n]"),
    ("Y[c, w] = A[w] * B[c]", "Z[p] = Y[c, W: p + r] * F[c, r]"),
    ("Y[c, w] = A[V: w + s] * G[c, s]", "Z[c, p] = Y[c, W: p + r] * F[r]"),
    ("Y[c, p] = A[c, W: p + r] * F[r]", "X[c, p] = Y[c, p] * G[c]", "Z[p] = X[c, p] * D[p]"),
    ("Y[c, p] = A[U: 2*p + r, c] * F[r]", "Z[c] = Y[c, p] * D[p]"),
    ("Y[p] = A[W: p + r] * F[r]", "X[p] = A[W: p + r] * G[r]", "Z[p] = Y[p] * X[p]"),
    ("Y[p] = A[W: p + r] * F[r]", "X[p] = Y[p] * A[W: p]", "Z[p] = X[p] * G[p]"),
    ("Y[c, w] = A[c] * B[w]", "X[c, w] = Y[c, w] * G[c]", "Z[c, p] = Y[c, W: p + r] * F[r]"),
)

WINDOWS = (
    # a tensor that Einsums with loops in common see through different windows
    ("Y[p] = A[W: p + r] * F[r]", "Z[p] = Y[p] * A[W: p]"),
    ("Y[p] = A[W: p] * F[p]", "Z[p] = Y[p] * A[W: p + r]"),
    ("Y[c, p] = A[c, W: p + r] * F[r]", "Z[c, p] = Y[c, p] * A[c, W: p]"),
    ("Y[p, n] = A[W: p] * B[n]", "Z[p, n] = Y[p, n] * A[W: p + r]"),
    ("Y[p] = A[W: p] * F[p]", "X[p] = Y[p] * A[W: p + r]", "Z[p] = X[p] * A[W: p]"),
)


def workload_of(texts: tuple[str, ...], sizes: dict[str, int], bits: int = 1) -> Workload:
    """Write Einsums `output[…] = input[…] * weight[…]` as a workload."""
    ranks = ", ".join(f"{name.upper()}: {size}" for name, size in sizes.items())
    lines = ["workload:", f"  rank_sizes: {{{ranks}}}", f"  bits_per_value: {{All: {bits}}}"]
    lines.append("  pad: {W: 9, V: 9, U: 9}")  # windows that reach beyond the last position
    lines.append("  einsums:")
    for text in texts:
        output, right = text.split(" = ")
        names = [part.split("[")[0] for part in (*right.split(" * "), output)]
        lines.append(f'  - einsum: "{text}"')
        lines.append(f"    renames: {{input: {names[0]}, weight: {names[1]}, output: {names[2]}}}")
    return load_workload("\n".join(lines) + "\n")


def chain(rows: int, sizes: tuple[int, ...]) -> Workload:
    """Return the matrix multiplications T1 = T0 W0, T2 = T1 W1, … with 8-bit values."""
    texts = tuple(
        f"T{i + 1}[m, n{i + 1}] = T{i}[m, n{i}] * W{i}[n{i}, n{i + 1}]"
        for i in range(len(sizes) - 1)
    )
    return workload_of(texts, {"m": rows} | {f"n{i}": n for i, n in enumerate(sizes)}, 8)


def two_memories(
    size: int | str, outer: float = 50, inner: float = 1, rules: str = "", leak: float = 0
) -> Arch:
    """Return DRAM and a buffer of `size` bits, with more `rules`, over one MAC that leaks."""
    return load_arch(_text(size, (outer, inner), rules, leak))


def two_text(size: int | str, costs: tuple[float, float], leak: float = 0) -> str:
    """Write that design; `costs`: joule per value in DRAM and in the buffer."""
    return _text(size, costs, "", leak)


def three_memories(size: int, low: int, kept: str) -> Arch:
    """Return the same with registers of `low` bits that keep a set of tensors."""
    return load_arch(three_text(size, low, kept))


def three_text(size: int, low: int, kept: str) -> str:
    """Write that design."""
    text = _text(size, (50, 4), "", 0)
    place = text.index("  - !Compute")
    registers = _memory("REG", str(low), f"keep: {kept}", (0.5, 128))
    return text[:place] + registers + text[place:]


def _text(size: int | str, costs: tuple[float, float], rules: str, leak: float) -> str:
    return (
        "arch:\n  nodes:\n"
        + _memory("DRAM", "inf", 'keep: "~Intermediates", may_keep: All', (costs[0], 16))
        + _memory("BUF", str(size), f'keep: "~DRAM", may_keep: All{rules}', (costs[1], 64))
        + f"  - !Compute\n    name: MAC\n    leak_power: {leak}\n    area: 0\n"
        "    actions: [{name: compute, energy: 1, throughput: 1}]\n"
    )


def _memory(name: str, size: str, rules: str, cost: tuple[float, float]) -> str:
    energy, throughput = cost
    return (
        f"  - !Memory\n    name: {name}\n    size: {size}\n    leak_power: 0\n    area: 0\n"
        f"    tensors: {{{rules}}}\n    actions:\n"
        f"    - {{name: read, energy: {energy}, throughput: {throughput}}}\n"
        f"    - {{name: write, energy: {energy}, throughput: {throughput}}}\n"
    )


def random_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with a small buffer, a small workload, and conventions."""
    rng = random.Random(seed)
    texts = rng.choice((*CHAINS, *DAGS))
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 3, 4)) for name in names}
    size, outer = rng.choice((2, 3, 4, 5, 6, 8, 10, 12, 16, 24)), rng.choice((5, 50))
    kind = rng.choice(("", "", "no_refetch_from_above", "no_resend_to_below"))
    rules = f", {kind}: {rng.choice(('input', 'weight', 'output'))}" if kind else ""
    arch = two_memories(size, outer, 1, rules, rng.choice((0, 0, 0, 2)))
    return arch, workload_of(texts, sizes), rng.choice(("default", "accelforge"))


def random_window_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return the same with different windows on one tensor."""
    return random_halo_case(seed, WINDOWS)


def random_halo_case(
    seed: int, choices: tuple[tuple[str, ...], ...] = HALOS
) -> tuple[Arch, Workload, str]:
    """Return the same with convolutions."""
    rng = random.Random(f"halo {seed}")
    texts = rng.choice(choices)
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((1, 2, 3)) for name in names}
    sizes["p"], sizes["r"] = rng.choice(((2, 3), (3, 2), (4, 2), (4, 3), (2, 2), (5, 2)))
    sizes["w"] = sizes["p"] + sizes["r"] - 1
    sizes["v"] = sizes["w"] + sizes.get("s", 1) - 1
    sizes["u"] = 2 * (sizes["p"] - 1) + sizes["r"]
    size, outer = rng.choice((2, 3, 4, 5, 6, 7, 8, 10, 12, 16)), rng.choice((5, 50))
    rules = rng.choice(("", "", "", ", no_refetch_from_above: input"))
    arch = two_memories(size, outer, 1, rules, rng.choice((0, 0, 0, 2)))
    return arch, workload_of(texts, sizes), rng.choice(("default", "accelforge"))


def random_ordered_case(seed: int, conventions: str = "") -> tuple[Arch, Workload, str]:
    """Return the same with a random order of what the buffer holds."""
    _, workload, drawn = random_case(seed)
    rng = random.Random(f"order{seed}")
    one, two, three = rng.sample(("input", "weight", "output"), 3)
    first, second = f"[{one}, {two} | {three}]", f"[{two}, {one}]"
    options = rng.choice((f"[{first}]", f"[{second}]", f"[{first}, {second}]"))
    size, outer = rng.choice((4, 8, 12, 16, 24)), rng.choice((5, 50))
    arch = two_memories(size, outer, 1, f", tensor_order_options: {options}")
    return arch, workload, conventions or drawn


def random_shaped_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design that prescribes the first tile in the buffer, with halos or without."""
    rng = random.Random(f"shape {seed}")
    _, workload, _ = rng.choice((random_case, random_halo_case))(seed)
    names = sorted({name for einsum in workload.einsums for name in einsum.bounds})
    few = " | ".join(rng.sample(names, min(len(names), rng.choice((1, 2)))))
    operator = rng.choice(("<=", "==", ">=", "product<=", "<"))
    line = f'{{expression: "{few}", operator: "{operator}", value: {rng.choice((1, 2, 3))}}}'
    rules = rng.choice(("", ", tensor_order_options: [[output, input]]"))
    size = rng.choice((4, 6, 8, 12, 16, 24))
    arch = two_memories(size, rng.choice((5, 50)), 1, f"{rules}, tile_shape: [{line}]")
    return arch, workload, "default"


def random_narrow_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design whose outermost memory may be too small for what is not on chip.

    Not where Einsums see a tensor in different sizes: fused searches refuse that.
    """
    rng = random.Random(f"narrow {seed}")
    _, workload, conventions = rng.choice((random_case, random_case, random_halo_case))(seed)
    whole = {a.tensor: a.tile_size(e.bounds) for e in workload.einsums for a in e.accesses}
    least = max(sum(whole[t] for t in e.tensors) for e in workload.einsums)
    outer = rng.randint(least - min(whole.values()), sum(whole.values()))
    seen = {(a.tensor, a.tile_size(e.bounds)) for e in workload.einsums for a in e.accesses}
    if len(seen) > len(whole):
        outer = sum(size for _, size in seen)
    text = _text(rng.choice((4, 6, 8, 12, 16, 24)), (rng.choice((5, 50)), 1), "", 0)
    return load_arch(text.replace("size: inf", f"size: {outer}", 1)), workload, conventions


def random_wide_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design on which a tensor has other bits per value as an input than as an output."""
    rng = random.Random(f"wide {seed}")
    _, workload, conventions = rng.choice((random_case, random_case, random_halo_case))(seed)
    text = _text(rng.choice((4, 6, 8, 12, 16, 24, 32)), (rng.choice((5, 50)), 1), "", 0)
    for name in ("BUF", "DRAM"):
        widths = ", ".join(f"{r}: {rng.choice((1, 2, 4))}" for r in ("input", "output", "weight"))
        head = f"    name: {name}\n"
        text = text.replace(head, f"{head}    bits_per_value: {{{widths}}}\n")
    return load_arch(text), workload, conventions


def random_deep_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design of three memories, and a workload small enough for them."""
    rng = random.Random(seed)
    texts = rng.choice((CHAINS[0], CHAINS[2], *DAGS[:4]))
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 2, 3)) for name in names}
    kept = rng.choice(("weight", "output", "input | output", "input"))
    arch = three_memories(rng.choice((2, 3, 4, 6, 8, 12)), rng.choice((2, 3, 4)), kept)
    return arch, workload_of(texts, sizes), rng.choice(("default", "accelforge"))


def network(name: str, topology: str, hop: str) -> str:
    return (
        f"  - !Network\n    name: {name}\n    leak_power: 0\n    area: 0\n"
        f"    topology: {topology}\n    actions: [{{name: hop, {hop}}}]\n"
    )


def random_relayed_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with lanes above the buffer, and networks above these or below."""
    rng = random.Random(f"relayed {seed}")
    texts = rng.choice((CHAINS[0], CHAINS[2], *DAGS[:4]))
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 2, 3)) for name in names}
    nets = []
    for name in ("NOP", "NOC"):
        hop = f"energy: {rng.randrange(1, 9)}, throughput: {rng.choice((0.05, 1, 4))}"
        topology = rng.choice(("mesh", "all_to_all"))
        nets.append(network(name, topology, f"{hop}, latency: {rng.choice((0, 1, 20))}"))
    above, below = rng.choice(((0, 1), (1, 0), (1, 0), (1, 1)))
    reuse = rng.choice(("", "", ", may_reuse: Nothing", ", may_reuse: weight"))
    lanes = f"{{name: x, fanout: {rng.choice((2, 4)) if len(names) < 4 else 2}{reuse}}}"
    second = len(names) < 3 and above
    dims = f"    spatial: [{lanes}{', {name: y, fanout: 2}' if second else ''}]\n"
    text = _text(rng.choice((2, 3, 4, 6, 8)), (rng.choice((5, 50)), 1), "", rng.choice((0, 2)))
    memory = "  - !Memory\n    name: BUF\n"
    upper = "  - !Container\n    name: TILE\n" + dims
    text = text.replace(memory, nets[0] * above + upper + memory)
    lower = "  - !Container\n    name: PE\n    spatial: [{name: z, fanout: 2}]\n" * below
    text = text.replace("  - !Compute", nets[1] * below + lower + "  - !Compute")
    return load_arch(text), workload_of(texts, sizes), rng.choice(("default", "accelforge"))


def random_network_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with lanes behind a network, and a workload small enough for it."""
    rng = random.Random(f"network {seed}")
    texts = rng.choice((CHAINS[0], CHAINS[2], *DAGS[:4]))
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 2, 3)) for name in names}
    hop = f"energy: {rng.randrange(1, 9)}, throughput: {rng.choice((0.05, 1, 4))}"
    topology = rng.choice(("mesh", "all_to_all"))
    reuse = rng.choice(("", ", may_reuse: Nothing", ", may_reuse: input"))
    net = network("NET", topology, f"{hop}, latency: {rng.choice((0, 1, 20))}")
    lanes = f"  - !Container\n    name: PE\n    spatial: [{{name: x, fanout: 2{reuse}}}]\n"
    low = _memory("REG", "8", "keep: " + rng.choice(("output", "weight")), (0.5, 128))
    lanes += low if rng.random() < 0.4 else ""
    text = _text(rng.choice((3, 4, 6, 8, 12)), (50, 4), "", 0)
    text = text.replace("  - !Compute", lanes + "  - !Compute")
    memory = "  - !Memory\n    name: BUF\n" if rng.random() < 0.3 else "  - !Container\n"
    return (
        load_arch(text.replace(memory, net + memory)),
        workload_of(texts, sizes),
        rng.choice(("default", "accelforge")),
    )


def random_meshed_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with two dimensions of lanes behind networks; in some, lanes above too."""
    rng = random.Random(f"meshed {seed}")
    texts = rng.choice((CHAINS[0], CHAINS[0], CHAINS[2], DAGS[0]))
    names = sorted({c for text in texts for c in text if c.islower()})
    few = len(names) < 4
    sizes = {name: rng.choice((2, 2, 4)) if few else 2 for name in names}
    nets = []
    for name in ("NOP", "NOC"):
        hop = f"energy: {rng.randrange(1, 9)}, throughput: {rng.choice((0.05, 1, 4))}"
        topology = rng.choice(("mesh", "mesh", "all_to_all"))
        nets.append(network(name, topology, f"{hop}, latency: {rng.choice((0, 1, 20))}"))
    reuse = rng.choice(("", "", ", may_reuse: Nothing", ", may_reuse: weight"))
    lanes = f"{{name: x, fanout: 2{reuse}}}, {{name: y, fanout: {4 if few else 2}}}"
    low = _memory("REG", "8", "keep: " + rng.choice(("output", "weight")), (0.5, 128))
    lanes = f"  - !Container\n    name: PE\n    spatial: [{lanes}]\n"
    lanes += low if few and rng.random() < 0.4 else ""
    text = _text(rng.choice((3, 4, 6, 8, 12)), (rng.choice((5, 50)), 4), "", rng.choice((0, 2)))
    memory = "  - !Memory\n    name: BUF\n"
    upper = "  - !Container\n    name: TILE\n    spatial: [{name: x, fanout: 2}]\n"
    above = rng.choice(("", nets[0], upper, nets[0] + upper, nets[0] + upper))
    text = text.replace(memory, above + memory)
    below = nets[1] if not above.startswith(nets[0]) or rng.random() < 0.5 else ""
    text = text.replace("  - !Compute", below + lanes + "  - !Compute")
    return load_arch(text), workload_of(texts, sizes), rng.choice(("default", "accelforge"))


def random_spread_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with lanes above the buffer or on it, and a workload small enough for it."""
    rng = random.Random(f"spread {seed}")
    texts = rng.choice((CHAINS[0], CHAINS[2], *DAGS[:4], HALOS[0], HALOS[3]))
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 2, 3)) for name in names}
    sizes["w"] = sizes.get("p", 1) + sizes.get("r", 1) - 1
    reuse = rng.choice(("", "", ", may_reuse: Nothing", ", may_reuse: weight"))
    lanes = f"{{name: x, fanout: {rng.choice((2, 2, 3))}{reuse}}}"
    second = len(names) < 4 and seed % 3 == 0
    dim = f"    spatial: [{lanes}{', {name: y, fanout: 2}' if second else ''}]\n"
    kind = rng.choice(("", "", "no_refetch_from_above", "no_resend_to_below"))
    rules = f", {kind}: {rng.choice(('input', 'weight', 'output'))}" if kind else ""
    text = _text(
        rng.choice((2, 3, 4, 6, 8, 12)), (rng.choice((5, 50)), 1), rules, rng.choice((0, 2))
    )
    if rng.random() < 0.3:
        text = text.replace("    name: BUF\n", "    name: BUF\n" + dim)
    else:
        memory = "  - !Memory\n    name: BUF\n"
        text = text.replace(memory, "  - !Container\n    name: TILE\n" + dim + memory)
    if rng.random() < 0.25 and len(names) < 4:
        lower = "  - !Container\n    name: PE\n    spatial: [{name: y, fanout: 2}]\n"
        text = text.replace("  - !Compute", lower + "  - !Compute")
    return load_arch(text), workload_of(texts, sizes), rng.choice(("default", "accelforge"))


def random_bounded_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with lanes above or below the buffer, whose loops are bounded.

    Above it by default only: under accelforge a loop that an exchanged tensor keeps from standing
    there is no target of a bound, and the listing does not tell these from others.
    """
    rng = random.Random(f"bounded {seed}")
    texts = rng.choice((CHAINS[0], CHAINS[2], *DAGS[:4]))
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 2, 3, 4)) for name in names}
    dims = [_bounded_dim(name, rng) for name in ("x", "y")[: 1 + (len(names) < 4 and seed % 2)]]
    lanes = f"  - !Container\n    name: PE\n    spatial: [{', '.join(dims)}]\n"
    text = _text(rng.choice((3, 4, 6, 8, 12)), (rng.choice((5, 50)), 1), "", rng.choice((0, 2)))
    place = rng.choice(("  - !Compute", "  - !Compute", "  - !Memory\n    name: BUF\n"))
    low = _memory("REG", "8", "keep: " + rng.choice(("output", "weight")), (0.5, 128))
    if place == "  - !Compute" and rng.random() < 0.3:
        lanes += low
    arch = load_arch(text.replace(place, lanes + place))
    conventions = rng.choice(("default", "accelforge")) if "Compute" in place else "default"
    return arch, workload_of(texts, sizes), conventions


def _bounded_dim(name: str, rng: random.Random) -> str:
    fields = [f"name: {name}, fanout: {rng.choice((2, 3, 4))}"]
    if rng.random() < 0.3:
        fields.append(f"{rng.choice(('reuse', 'may_reuse'))}: {rng.choice(('input', 'output'))}")
    operator = rng.choice(("", "product")) + rng.choice(("==", "<=", ">=", "<", ">"))
    target = rng.choice(("output", "~output", "weight", "input", "~weight"))
    bound = f"expression: {target}.rank_variables, operator: '{operator}'"
    value = rng.choice((1, 2, 2, 3)) if operator.endswith(("=", "<")) else 1
    fields.append(f"loop_bounds: [{{{bound}, value: {value}}}]")
    return f"{{{', '.join(fields)}}}"


def opposed(seed: int, case: Case) -> tuple[Arch, Workload, str]:
    """Return a case in which the buffer is fast but dear, and DRAM cheap but slow."""
    arch, workload, conventions = case(seed)
    rng = random.Random(seed)
    values: dict[str, object] = {}
    for name, energies, rates in (("DRAM", (1, 2), (0.2, 0.5)), ("BUF", (3, 7), (1, 2))):
        for action in ("read", "write"):
            values[f"{name}.actions.{action}.energy"] = rng.choice(energies)
            values[f"{name}.actions.{action}.throughput"] = rng.choice(rates)
    return arch.with_values(values), workload, conventions


def random_sized_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design whose buffer has another size for Einsums that use a certain tensor."""
    rng = random.Random(f"sized {seed}")
    drawn = rng.choice((random_case, random_case, random_halo_case, random_wide_case))
    _, workload, conventions = drawn(seed)
    sizes = (*(rng.choice((3, 4, 6, 8, 12, 16, 24, 32)) for _ in range(2)), "inf", 0)
    one, two = rng.sample(sizes, 2) if rng.random() < 0.2 else rng.sample(sizes[:2], 2)
    size = f"{one} if {rng.choice(workload.tensors)} else {two}"
    return two_memories(size, rng.choice((5, 50)), 1), workload, conventions
