"""Random small designs, and a brute force over them that shares no code with the search's loops."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import permutations, product
from math import prod

from figures import Make, Row, unbeaten
from search_rules import Lanes, breaks_rule
from tolls import tolls_down

from tilewright.arch.components.components import Component
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.result import EinsumMapping
from tilewright.mapper.templates.placement import Holder, Template
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError
from tilewright.mapper.workload.workload_loading import load_workload

MATMUL = "Z[m, n] = A[m, k] * B[k, n]"
EINSUMS = (
    MATMUL,
    "Z[m] = A[m, k] * B[k]",
    "Z[m, n] = A[m, n] * B[n]",
    "Z[p] = A[W: p + r] * B[r]",
    "Z[p, m] = A[W: 2 * p + r] * B[m, r]",
    "Z[i] = A[i, k] * B[k, l] * C[l]",
    "Z[m] = A[W: 2 * m, k] * B[k]",
)


def random_arch(rng: random.Random) -> str:
    """Write an architecture of 2 or 3 memories with random numbers and constraints."""
    lines = ["arch:", "  nodes:"]
    lines += memory("DRAM", "inf", 'keep: "~Intermediates", may_keep: All', rng, 50)
    if rng.random() < 0.15:
        lines += toll("WIRE", rng)
    free = ", force_memory_hierarchy_order: false" if rng.random() < 0.1 else ""
    rules = buffer_rules(rng) + free
    lines += memory("BUF", str(rng.choice((64, 96, 160, 320))), rules, rng, 5)
    if rng.random() < 0.7 and not free:
        lines += container(rng)
    if rng.random() < 0.15:
        lines += toll("LINK", rng)
    if rng.random() < 0.6:
        size = rng.choice((8, 16, 24, 48))
        rules = rng.choice(("keep: output", "keep: weight", "keep: Nothing, may_keep: All"))
        lines += memory("REG", str(size), rules + free, rng, 1)
    lines += ["  - !Compute", "    name: MAC", *zero()]
    lines += [f"    actions: [{{name: compute, energy: 0.5, throughput: {rng.choice((1, 4))}}}]"]
    return "\n".join(lines) + "\n"


def toll(name: str, rng: random.Random) -> list[str]:
    """Write a Toll with random costs."""
    direction = rng.choice(("up", "down", "up_and_down"))
    return [
        "  - !Toll",
        f"    name: {name}",
        *zero(),
        f"    direction: {direction}",
        f"    tensors: {{keep: {rng.choice(('All', 'input | output', 'weight'))}}}",
        "    actions:",
        f"    - {{name: read, energy: {rng.randrange(1, 9)}, throughput: {rng.choice((4, 64))}}}",
    ]


def zero() -> list[str]:
    return ["    leak_power: 0", "    area: 0"]


def memory(name: str, size: str, rules: str, rng: random.Random, cost: int) -> list[str]:
    leak = rng.choice((0, 0, 0, 3))
    throughput = rng.choice((2, 8, 64, 256))
    skip = rng.choice(("true", "true", "false"))
    return [
        "  - !Memory",
        f"    name: {name}",
        f"    size: {size}",
        f"    leak_power: {leak}",
        "    area: 0",
        f"    skip_initial_output_write: {skip}",
        f"    tensors: {{{rules}}}",
        "    actions:",
        f"    - {{name: read, energy: {cost + rng.randrange(4)}, throughput: {throughput}}}",
        f"    - {{name: write, energy: {cost + rng.randrange(4)}, throughput: {throughput}}}",
    ]


def buffer_rules(rng: random.Random) -> str:
    rules = [
        rng.choice(("keep: All", "keep: Nothing, may_keep: All", "keep: input, may_keep: All"))
    ]
    extra = rng.choice(("", "", "refetch", "resend", "order", "shape"))
    sent = {"refetch": "no_refetch_from_above", "resend": "no_resend_to_below"}
    if extra in sent:
        rules.append(f"{sent[extra]}: {rng.choice(('weight', 'output', 'input'))}")
    elif extra == "shape":
        operator = rng.choice(("<=", "product<=", "==", ">="))
        value = rng.choice((2, 4))
        rules.append(
            f"tile_shape: [{{expression: weight.rank_variables, operator: '{operator}',"
            f" value: {value}}}]"
        )
    elif extra == "order":
        rules.append("tensor_order_options: [[output, weight], [input, weight]]")
    return ", ".join(rules)


def container(rng: random.Random) -> list[str]:
    lines = ["  - !Container", "    name: PE", "    spatial:"]
    for name in ("x", "y")[: rng.choice((1, 1, 2))]:
        fields = [f"name: {name}", f"fanout: {rng.choice((2, 3, 4))}"]
        extra = rng.choice(("", "", "may", "reuse", "usage", "bounds"))
        if extra == "may":
            fields.append(f"may_reuse: {rng.choice(('Nothing', 'input', 'weight | output'))}")
        elif extra == "reuse":
            fields.append(f"reuse: {rng.choice(('input', 'output', 'weight'))}")
        elif extra == "usage":
            fields.append(f"min_usage: {rng.choice((0.5, 1))}")
        elif extra == "bounds":
            operator = rng.choice(("<=", "product<=", "<", "product<"))
            target = "output.rank_variables"
            fields.append(
                f"loop_bounds: [{{expression: {target}, operator: '{operator}', value: 2}}]"
            )
        if rng.random() < 0.2:
            fields.append("power_gateable: true")
        lines.append(f"    - {{{', '.join(fields)}}}")
    return lines


def random_workload(rng: random.Random, text: str, choices: Sequence[int] = ()) -> str:
    """Write a workload of one Einsum with small random sizes, out of `choices` if given."""
    names = sorted({c for c in text.split("=", 1)[0] + text.split("=", 1)[1] if c.islower()})
    small = (2, 3, 4) if len(names) > 2 else (2, 3, 4, 6)
    sizes = {name: rng.choice(choices or small) for name in names}
    ranks = {name.upper(): size for name, size in sizes.items()}
    lines = ["workload:", f"  bits_per_value: {{All: {rng.choice((4, 8))}}}"]
    if "W: 2 * m" in text:
        ranks["W"] = 2 * (sizes["m"] - 1) + 1
    elif "W:" in text:
        factor = 2 if "2 * p" in text else 1
        ranks["W"] = factor * (sizes["p"] - 1) + sizes["r"]
    listed = ", ".join(f"{rank}: {size}" for rank, size in sorted(ranks.items()))
    lines.append(f"  rank_sizes: {{{listed}}}")
    lines += ["  einsums:", f'  - einsum: "{text}"']
    lines += ["    renames: {input: A, weight: B, output: Z}"]
    return "\n".join(lines) + "\n"


def space_of(seed: int) -> Mapspace:
    """Return a random small mapspace; every rule of the files turns up in some of them."""
    rng = random.Random(seed)
    text = rng.choice(EINSUMS)
    arch = random_arch(rng)
    workload = load_workload(random_workload(rng, text))
    conventions = rng.choice(("default", "accelforge"))
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch(arch), workload.scope(einsum))
    return Mapspace(einsum, flat, conventions)


def _all_lanes(einsum: Einsum, components: tuple[Component, ...]) -> Iterator[Lanes]:
    dims = [(c.name, d.name, d.fanout) for c in components for d in c.spatial]
    options = []
    for _, _, fanout in dims:
        vectors = product(*(_factors(bound) for bound in einsum.bounds.values()))
        options.append([v for v in vectors if prod(v) <= fanout])
    for chosen in product(*options):
        columns = zip(*chosen, strict=True) if chosen else [()] * len(einsum.bounds)
        totals = [prod(column) for column in columns]
        if all(b % t == 0 for b, t in zip(einsum.bounds.values(), totals, strict=True)):
            yield {
                (component, dim): dict(zip(einsum.bounds, vector, strict=True))
                for (component, dim, _), vector in zip(dims, chosen, strict=True)
            }


def _factors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def _splits(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (number,)
        return
    for first in _factors(number):
        for rest in _splits(number // first, parts - 1):
            yield (first, *rest)


def _mappings(space: Mapspace, template: Template, lanes: Lanes) -> Iterator[Mapping]:
    einsum = space.einsum
    backing = [h for h in template.holders if h.backing]
    inner = [h for h in template.holders if not h.backing]
    gaps = len(inner) + 1
    left = {
        v: bound // prod(chosen[v] for chosen in lanes.values())
        for v, bound in einsum.bounds.items()
    }
    per_variable = [list(_splits(left[v], gaps)) for v in einsum.bounds]
    for turns in product(*per_variable):
        loops = [
            [(v, turn[gap]) for v, turn in zip(einsum.bounds, turns, strict=True) if turn[gap] > 1]
            for gap in range(gaps)
        ]
        for orders in product(*(permutations(gap) for gap in loops)):
            for dealt in _orders_of_dims(lanes):
                yield _build(space, (backing, inner, template.tolls), orders, dealt)


def _orders_of_dims(lanes: Lanes) -> Iterator[Lanes]:
    """Yield the lanes with the dimensions of each component in every order; unused ones stay."""
    groups = [
        [key for key in lanes if key[0] == component] for component in {key[0]: 0 for key in lanes}
    ]
    several = [
        permutations(keys) if sum(prod(lanes[key].values()) > 1 for key in keys) > 1 else [keys]
        for keys in groups
    ]
    for chosen in product(*several):
        yield {key: lanes[key] for keys in chosen for key in keys}


def _build(space: Mapspace, holders: object, orders: object, lanes: Lanes) -> Mapping:
    backing, inner, tolls = holders  # type: ignore[misc]
    nodes: list[Node] = []
    shape = dict(space.einsum.bounds)
    dealt: set[tuple[str, str]] = set()
    passed: set[Holder] = set()

    def deal(depth: int) -> None:
        for key, chosen in lanes.items():
            if key in dealt or space.problem.level(key[0]) > depth:
                continue
            dealt.add(key)
            for variable, lane in chosen.items():
                if lane > 1:
                    shape[variable] //= lane
                    nodes.append(Spatial(variable, shape[variable], key[1], key[0]))

    for holder in backing:
        deal(space.problem.level(holder.component))
        nodes.append(Storage((holder.tensor,), holder.component))
    for gap, order in enumerate(orders):  # type: ignore[arg-type,var-annotated]
        for variable, turn in order:
            shape[variable] //= turn
            nodes.append(Temporal(variable, shape[variable]))
        depth = (
            space.problem.level(inner[gap].component)
            if gap < len(inner)
            else len(space.problem.components)
        )
        coming = {(h.tensor, space.problem.level(h.component)) for h in inner[gap:]}
        for toll in tolls:
            own = space.problem.level(toll.component)
            later = any(t == toll.tensor and level < own for t, level in coming)
            if toll not in passed and own < depth and not later:
                passed.add(toll)
                nodes.append(TollNode((toll.tensor,), toll.component))
        deal(depth)
        if gap < len(inner):
            nodes.append(Storage((inner[gap].tensor,), inner[gap].component))
    nodes.append(ComputeNode(space.einsum.name, space.problem.components[-1].name))
    return Mapping(tuple(nodes))


def best_by_brute_force(space: Mapspace, limit: int) -> list[EinsumMapping] | None:
    """Score all mappings that the rules allow; None if there are more than `limit` to look at."""
    judge = MappingScorer(space)
    found: list[EinsumMapping] = []
    looked = 0
    for template in space.templates:
        if template.adjacent:
            continue  # the same mappings as those of its plain template, and the model knows
        legal: list[tuple[EinsumMapping, Lanes]] = []
        for lanes in _all_lanes(space.einsum, space.problem.components):
            for mapping in _mappings(space, template, lanes):
                looked += 1
                if looked > limit:
                    return None
                if breaks_rule(space, template, mapping):
                    continue
                for one in {mapping, tolls_down(template, mapping)}:
                    with suppress(InfeasibleMapping, MappingError):
                        legal.append((judge.costed(one), lanes))
        found += keep_well_used(space, legal)
    return found


def of_brute_force(make: Make, seed: int, limit: int) -> list[Row] | None:
    """Return the rows of best_by_brute_force."""
    found = best_by_brute_force(make(seed), limit)
    return None if found is None else unbeaten((one.energy, one.latency) for one in found)


def keep_well_used(
    space: Mapspace, legal: list[tuple[EinsumMapping, Lanes]]
) -> list[EinsumMapping]:
    """Apply min_usage: where none reaches it, keep the highest usage; the innermost decides."""
    for component in reversed(space.problem.components):
        for dim in reversed(component.spatial):
            if dim.min_usage <= 0 or not legal:
                continue
            key = (component.name, dim.name)
            used = [prod(lanes[key].values()) / dim.fanout * dim.usage_scale for _, lanes in legal]
            floor = min(max(used), dim.min_usage) - 1e-9
            legal = [pair for pair, share in zip(legal, used, strict=True) if share >= floor]
    return [candidate for candidate, _ in legal]
