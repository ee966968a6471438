"""Random small mapspaces of copies that repeat values or slide over them."""

from __future__ import annotations

from random import Random

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload_loading import load_workload

COPIES = (
    ("Y[x, g] = Z[m, g]", "{M: 2, X: 4, G: 3}"),
    ("Y[x, t, g] = Z[m, g]", "{M: 2, X: 3, T: 2, G: 2}"),
    ("Y[g] = Z[m, g]", "{M: 4, G: 6}"),
    ("Y[p, r] = Z[H: p + r]", "{P: 4, R: 3}"),
    ("Y[p, r] = Z[H: 3*p + r]", "{P: 4, R: 2}"),
)


def repeating_space_of(seed: int) -> Mapspace:
    """Two or three memories, some small, lanes above some, costs of all kinds."""
    draw = Random(seed)
    nodes = ["arch:", "  nodes:"]
    for number, name in enumerate(("DRAM", "BUF", "REG")[: draw.choice((2, 3, 3))]):
        if number and draw.random() < 0.5:
            may = draw.choice(("All", "Nothing", "Inputs"))
            lanes = f"{{name: d{number}, fanout: {draw.choice((2, 4))}, may_reuse: {may}}}"
            nodes.append(f"  - !Container {{name: C{number}, spatial: [{lanes}]}}")
        size = draw.choice((8, 16, 40, 1000)) if number else "inf"
        must = draw.choice(("Nothing", "Nothing", "Inputs", "All")) if number else "~Intermediates"
        keep = f"{{keep: {must}, may_keep: All}}"
        costs = [draw.randint(1, 9) * 10 ** (1 - number) for _ in range(2)]
        actions = ", ".join(
            f"{{name: {action}, energy: {cost}, throughput: {draw.choice((1, 4))}}}"
            for action, cost in zip(("read", "write"), costs, strict=True)
        )
        leak = draw.choice((0, 0, 1))
        nodes.append(
            f"  - !Memory {{name: {name}, size: {size}, area: 0, leak_power: {leak}, "
            f"tensors: {keep}, actions: [{actions}]}}"
        )
    nodes.append(
        "  - !Compute {name: MAC, area: 0, leak_power: 0, "
        "actions: [{name: compute, energy: 1, throughput: 1}]}"
    )
    einsum, sizes = draw.choice(COPIES)
    workload = load_workload(
        f"workload:\n  rank_sizes: {sizes}\n  bits_per_value: {{All: {draw.choice((1, 2))}}}\n"
        f'  einsums: [{{einsum: "{einsum}", is_copy_operation: true}}]\n'
    )
    (copy,) = workload.einsums
    (flat,) = flatten(load_arch("\n".join(nodes) + "\n"), workload.scope(copy))
    return Mapspace(copy, flat, draw.choice(("default", "accelforge")))
