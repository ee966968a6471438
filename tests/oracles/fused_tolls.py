"""The Tolls that tensors pass in the lists of one Einsum, and random small workloads with one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from fused_cases import CHAINS, DAGS, _memory, _text, workload_of
from fused_lists import INNER, OUTER

from tilewright.arch.components.components import Toll
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping import Node, Spatial, Storage, TollNode
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload

FORMS = (
    DAGS[2],
    DAGS[3],
    DAGS[4],
    CHAINS[0],
    CHAINS[2],
    ("Y[m, n] = A[m] * B[n]", "Z[m] = Y[m, n] * B[n]"),
    ("Y[m] = A[m] * B[m]", "X[m] = Y[m] * A[m]", "Z[m] = X[m] * B[m]"),
)


def passing(
    flat: FlatArch, einsum: Einsum, chip: Mapping[str, str], lists: Iterator[list[Node]]
) -> Iterator[list[Node]]:
    """Yield the lists with every Toll right above what its tensor reaches next below it."""
    order = [component.name for component in flat.components]
    tolls = [component for component in flat.components if isinstance(component, Toll)]
    held = {OUTER: frozenset(einsum.tensors) - chip.keys()}
    for nodes in lists:
        found = nodes
        for toll in tolls:
            level = order.index(toll.name)
            if order.index(INNER) < level:
                held = {**held, INNER: frozenset(t for t in chip if chip[t] == INNER)}
            for tensor in sorted(toll.tensors.resolve(held).keep & frozenset(einsum.tensors)):
                if order.index(chip.get(tensor, OUTER)) < level:
                    place = _next(found, tensor, order[level + 1 :])
                    found = [*found[:place], TollNode((tensor,), toll.name), *found[place:]]
        yield found


def _next(nodes: Sequence[Node], tensor: str, below: Sequence[str]) -> int:
    """Return the place of the next holder of a tensor in some components, or of lanes there."""
    for place, node in enumerate(nodes[:-1]):
        holds = isinstance(node, Storage) and node.tensors == (tensor,)
        if (holds or isinstance(node, Spatial)) and node.component in below:
            return place
    return len(nodes) - 1


def random_toll_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with a Toll, and a workload in which tensors have several roles."""
    rng = random.Random(f"toll {seed}")
    texts = [_turned(text, rng) for text in rng.choice(FORMS)]
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 2, 2, 4) if len(names) < 3 else (2, 2, 3)) for name in names}
    kind = rng.choice(("", "", ", no_refetch_from_above: input"))
    text = _text(rng.choice((2, 3, 4, 5, 6, 8)), (rng.choice((5, 50)), 1), kind, 0)
    if rng.random() < 0.3:
        lanes = "  - !Container\n    name: TILE\n    spatial: [{name: x, fanout: 2}]\n"
        text = text.replace("  - !Memory\n    name: BUF\n", f"{lanes}  - !Memory\n    name: BUF\n")
    elif rng.random() < 0.4:
        low = _memory("REG", "3", "keep: " + rng.choice(("output", "weight")), (0.5, 128))
        text = text.replace("  - !Compute", low + "  - !Compute")
    toll = (
        f"  - !Toll\n    name: TOLL\n    direction: {rng.choice(('up', 'down', 'up_and_down'))}\n"
        f"    tensors: {{keep: {rng.choice(('All', 'input', 'weight', 'output'))}}}\n"
        "    leak_power: 0\n    area: 0\n"
        f"    actions: [{{name: read, energy: {rng.randrange(1, 9)}, throughput: 4}}]\n"
    )
    at = rng.choice(text.split("  - !")[2:])
    text = text.replace(f"  - !{at}", f"{toll}  - !{at}")
    return load_arch(text), workload_of(tuple(texts), sizes), rng.choice(("default", "accelforge"))


def _turned(text: str, rng: random.Random) -> str:
    """Write an Einsum with its factors, the input and the weight, in one order or the other."""
    output, right = text.split(" = ")
    return f"{output} = {' * '.join(rng.sample(right.split(' * '), 2))}"
