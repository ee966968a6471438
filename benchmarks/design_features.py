"""Changes of random designs: a feature of the files each, put into designs that lack it.

A feature takes the design as it is and changes its nodes, its workload or how it is searched; names
and numbers come from the generator that is handed in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Fields = dict[str, Any]


@dataclass(frozen=True)
class Node:
    """A node of an architecture file."""

    tag: str
    fields: Fields


@dataclass
class Design:
    """What a case is made of. `names`: the rank variables of its workload, `einsums` their number;
    `uneven`, `repeats`: how it is searched."""

    nodes: list[Node]
    workload: Fields
    names: list[str]
    variables: Fields = field(default_factory=dict)
    uneven: bool = False
    repeats: int = 1

    @property
    def einsums(self) -> int:
        """How many Einsums the workload has."""
        return len(self.workload["einsums"])

    def named(self, *names: str) -> Iterator[Node]:
        """Yield the nodes of these names, in Forks too."""
        for node in self.nodes:
            inner = node.fields.get("nodes", [node])
            yield from (one for one in inner if one.fields["name"] in names)

    def below(self, name: str) -> int:
        """Return the place in the list right below a node."""
        return 1 + next(i for i, n in enumerate(self.nodes) if n.fields.get("name") == name)


Feature = Callable[[random.Random, Design], None]


def sizes(rng: random.Random, design: Design) -> None:
    """Let the size of a memory depend on the Einsum, or on a variable."""
    role, count = rng.choice(("input", "weight", "output")), rng.choice((2, 4, 16))
    texts = (
        f"{count} * {role}.bits_per_value if {role} else {8 * count}",
        f"width * {count}",
        f"{count * 8} * len(All)",
        f"max(width, {count}) * 8",
    )
    design.variables["width"] = rng.choice((8, 16, 24))
    for node in design.named(rng.choice(("BUF", "REG"))):
        node.fields["size"] = rng.choice(texts)


def energies(rng: random.Random, design: Design) -> None:
    """Write energies as expressions, and scale them."""
    design.variables["joule"] = rng.choice((0.5, 2, 3))
    texts = ("joule * 4", "2 if len(All) > 2 else 7", "0.5 * output.bits_per_value + 1")
    for node in design.named("DRAM", "BUF", "REG", "MAC"):
        for action in node.fields["actions"]:
            if rng.random() < 0.4:
                action["energy"] = rng.choice(texts)
            if rng.random() < 0.2:
                action["energy_scale"] = rng.choice((0.5, 3))
        if rng.random() < 0.3:
            node.fields[rng.choice(("energy_scale", "actions_scale"))] = rng.choice((0.5, 2))


def latencies(rng: random.Random, design: Design) -> None:
    """Write rules for the time that components take, and scale throughputs."""
    texts = (
        "max(a.n_calls / a.throughput for a in actions)",
        "sum(a.n_calls / a.throughput for a in actions) + 7",
        "max(actions['read'].n_calls / 8, actions['write'].n_calls / 4, 12)",
        "sum(a.n_calls for a in actions) / 16",
        "2 * max(a.n_calls for a in actions) / 32",
        "0",
    )
    for node in design.named("DRAM", "BUF", "REG"):
        if rng.random() < 0.5:
            node.fields["total_latency"] = rng.choice(texts)
        if rng.random() < 0.3:
            node.fields["throughput_scale"] = rng.choice((0.5, 2))
        for action in node.fields["actions"]:
            if rng.random() < 0.2:
                action["throughput_scale"] = rng.choice((0.25, 2))
            elif rng.random() < 0.2:
                action["latency"] = rng.choice((0, 0.125, "1 / 16"))
                del action["throughput"]


def enabled(rng: random.Random, design: Design) -> None:
    """Let components take part in some Einsums only."""
    texts = ("len(All) > 2", "len(All) == 2", "True", "weight", "len(Inputs) == 2")
    for node in design.named("BUF", "REG", "PE", "MAC", "ALU0", "LINK"):
        usual = node.tag != "Container" and rng.random() < 0.4
        if usual and (node.fields["name"] != "MAC" or list(design.named("ALU0"))):
            node.fields["enabled"] = rng.choice(texts)


def sets(rng: random.Random, design: Design) -> None:
    """Say with other words of sets what memories keep."""
    safe = ("~DRAM", "~Above", "All - DRAM", "~DRAM | output", "~DRAM & All")
    texts = (
        *safe, "~(DRAM - input)", "weight | output", "input ^ output", "All - weight", "Outputs",
        "Inputs", "Nothing", "A", "B | Z", "weight if len(All) == 3 else All", "input & Shared",
        "~Intermediates", "Persistent", "All if len(Inputs) > 1 else Nothing",
    )  # fmt: skip
    for node in design.named("BUF", "REG"):
        first = node.fields["name"] == "BUF" and design.einsums > 1
        rules = node.fields["tensors"]
        rules["keep"] = rng.choice(safe if first else texts)
        if rng.random() < 0.7:
            rules["may_keep"] = rng.choice(("All", "~Above", *texts))
        if node.fields["name"] == "REG" and rng.random() < 0.3:
            rules["keep"] = rng.choice(("BUF", "~BUF", "BUF & weight", "Above - output"))


def tiles(rng: random.Random, design: Design) -> None:
    """Bound tile shapes, which the other tool reads and does not heed."""
    operators = ("==", "<=", ">=", "<", ">", "product==", "product<=", "product>=", "product>")
    for node in design.named("BUF", "REG"):
        node.fields["tensors"]["tile_shape"] = [
            {
                "expression": rng.choice((*design.names, "weight.rank_variables")),
                "operator": rng.choice(operators),
                "value": rng.choice((1, 2, 4)),
            }
        ]


def levels(rng: random.Random, design: Design) -> None:
    """Put a further memory between the first two, with or without lanes."""
    fields: Fields = {"name": "L2", "size": rng.choice((256, 512, 1024, 4096)), "area": 0}
    keep = rng.choice(("~DRAM", "Nothing", "Nothing", "weight", "output", "input"))
    fields |= {"leak_power": rng.choice((0, 0, 1)), "tensors": {"keep": keep, "may_keep": "All"}}
    pair = (("read", 20, 128), ("write", 25, 64))
    fields["actions"] = [{"name": n, "energy": e, "throughput": t} for n, e, t in pair]
    place = design.below("DRAM")
    design.nodes.insert(place, Node("Memory", fields))
    if rng.random() < 0.3:
        lanes = {"name": "q", "fanout": rng.choice((2, 4))}
        below = Node("Container", {"name": "CORE", "spatial": [lanes]})
        design.nodes.insert(place + 1, below)


def resent(rng: random.Random, design: Design) -> None:
    """Forbid to fetch again, or to send again."""
    roles = ("input", "weight", "output", "All", "~weight", "input | output")
    for node in design.named("L2", "BUF", "REG"):
        name = rng.choice(("no_refetch_from_above", "no_resend_to_below"))
        node.fields["tensors"][name] = rng.choice(roles)


def ordered(rng: random.Random, design: Design) -> None:
    """Prescribe orders, in any memory below the first."""
    roles = ["input", "weight", "output"]
    for node in design.named("L2", "BUF", "REG"):
        options = [rng.sample(roles, 3) for _ in range(rng.choice((1, 2)))]
        if rng.random() < 0.3:
            options = [[f"{options[0][0]} | {options[0][1]}", options[0][2]]]
        node.fields["tensors"]["tensor_order_options"] = options
        if rng.random() < 0.3:
            node.fields["tensors"]["force_memory_hierarchy_order"] = rng.choice((True, False))


def network(rng: random.Random, design: Design) -> None:
    """Put a Network above the lanes (the other tool has none for convolutions)."""
    hop = {"name": "hop", "energy": rng.choice((1, 3)), "throughput": rng.choice((8, 64))}
    fields: Fields = {"name": "NOC", "topology": rng.choice(("mesh", "all_to_all")), "area": 0}
    fields |= {"leak_power": 0, "actions": [{**hop, "latency": rng.choice((0, 1))}]}
    if rng.random() < 0.3:
        fields["bits_per_action"] = 8
    place = next(i for i, n in enumerate(design.nodes) if n.fields.get("name") == "PE")
    design.nodes.insert(place, Node("Network", fields))


def array(rng: random.Random, design: Design) -> None:
    """Put the lanes into an Array, with a memory that is spread over them."""
    place = next(i for i, n in enumerate(design.nodes) if n.fields.get("name") == "PE")
    lanes: list[Fields] = design.nodes[place].fields["spatial"]
    places = [{"name": n["name"], "fanout": rng.choice((1, n["fanout"]))} for n in lanes]
    pair = (("read", 3, 128), ("write", 4, 64))
    kept = rng.choice(({"keep": "All"}, {"keep": "Nothing", "may_keep": "All"}, {"keep": "input"}))
    fields: Fields = {"name": "LOCAL", "size": rng.choice((32, 64, 128)), "area": 0}
    fields |= {"leak_power": rng.choice((0, 1)), "tensors": kept, "spatial": places}
    fields["actions"] = [{"name": n, "energy": e, "throughput": t} for n, e, t in pair]
    grid = {"name": "GRID", "spatial": lanes, "nodes": [Node("Memory", fields)]}
    design.nodes[place] = Node("Array", grid)


def gates(rng: random.Random, design: Design) -> None:
    """Let much leak, and gate what is not used."""
    for node in (*design.nodes, *design.named("ALU0", "ALU1", "SIDE0")):
        if node.tag in ("Memory", "Compute", "Toll"):
            node.fields["leak_power"] = rng.choice((0, 5, 40))
        if node.tag == "Fork":
            node.fields["forked_power_gateable"] = rng.choice((True, False))
            node.fields["non_forked_power_gateable"] = rng.choice((True, False))
        for lanes in node.fields.get("spatial", ()):
            lanes["power_gateable"] = rng.choice((True, False))


def bounds(rng: random.Random, design: Design) -> None:
    """Bound the loops of every dimension with any operator, over any set of rank variables."""
    operators = ("==", "<=", ">=", "<", ">")
    every = (*operators, *(f"product{one}" for one in operators))
    some = rng.sample(design.names, min(2, len(design.names)))
    targets = (*design.names, " | ".join(some), f"~{some[0]}", "input.rank_variables", "Nothing")
    for node in design.nodes:
        for lanes in node.fields.get("spatial", ()):
            lanes["loop_bounds"] = [
                {
                    "expression": rng.choice(targets),
                    "operator": rng.choice(every),
                    "value": rng.choice((1, 2, 2, 3, 4)),
                }
            ]


def spaces(rng: random.Random, design: Design) -> None:
    """Give the bounds of rank variables instead of sizes of ranks, and accesses in full."""
    ranks: Fields = design.workload["rank_sizes"]
    shapes: Fields = design.workload.setdefault("iteration_space_shape", {})
    for name in design.names:
        if rng.random() < 0.5:
            shapes[name] = f"0 <= {name} < {ranks.pop(name.upper())}"
    if not ranks:
        del design.workload["rank_sizes"]


def initial(rng: random.Random, design: Design) -> None:
    """Let outputs be filled at first, in any memory and in the Compute."""
    for node in design.named("DRAM", "BUF", "REG", "MAC", "ALU0"):
        if node.tag != "Toll":
            node.fields["skip_initial_output_write"] = rng.choice((True, False, False))


def uneven(rng: random.Random, design: Design) -> None:
    """Search uneven tiles too, of primes."""
    del rng
    design.uneven = True


def repeats(rng: random.Random, design: Design) -> None:
    """Let Einsums share two loops over one rank variable."""
    del rng
    design.repeats = 2


def odd(rng: random.Random, design: Design) -> None:
    """Take sizes that are no powers of two, and lanes that do not divide them."""
    ranks: Fields = design.workload["rank_sizes"]
    for name in ranks:
        if name.lower() in design.names:
            ranks[name] = rng.choice((1, 3, 5, 6, 9, 10, 12))
    for node in design.nodes:
        for lanes in node.fields.get("spatial", ()):
            lanes["fanout"] = rng.choice((2, 3, 5, 6, 7, 9, 12))


def nested(rng: random.Random, design: Design) -> None:
    """Put the lower part of the list into a branch, once or twice."""
    for _ in range(rng.choice((1, 2))):
        place = rng.randrange(1, len(design.nodes))
        inner = Node("Hierarchical", {"nodes": design.nodes[place:]})
        design.nodes[place:] = [inner]


def scaled(rng: random.Random, design: Design) -> None:
    """Scale whatever can be scaled."""
    for node in design.named("DRAM", "BUF", "REG", "MAC"):
        for name in ("leak_power_scale", "energy_scale", "throughput_scale", "actions_scale"):
            if rng.random() < 0.4:
                node.fields[name] = rng.choice((0.5, 2, 3))
        if rng.random() < 0.3:
            node.fields["n_parallel_instances"] = rng.choice((2, 3))
        for action in node.fields["actions"]:
            if node.tag == "Memory" and rng.random() < 0.4:
                action["bits_per_action"] = rng.choice((4, 24, 64))


def limits(rng: random.Random, design: Design) -> None:
    """Constrain every dimension in three ways at once."""
    targets = (*design.names, "input.rank_variables", "~weight.rank_variables")
    for node in design.nodes:
        for lanes in node.fields.get("spatial", ()):
            lanes["loop_bounds"] = [
                {
                    "expression": rng.choice(targets),
                    "operator": rng.choice(("<=", "==", "product<=", "product==")),
                    "value": rng.choice((1, 2, 3)),
                }
            ]
            lanes["min_usage"] = rng.choice((0.25, 0.5, 1))
            lanes["may_reuse"] = rng.choice(("input", "weight", "~output", "All"))


def idling(rng: random.Random, design: Design) -> None:
    """Let memories that may stay empty take time by rules that give some without calls."""
    texts = (
        "sum(a.n_calls / a.throughput for a in actions) + 20",
        "max(actions['read'].n_calls / 8, 30)",
        "max(actions['read'].n_calls, actions['write'].n_calls, 64) / 4",
    )
    for node in design.named("L2", "BUF", "REG"):
        node.fields["tensors"]["may_keep"] = "All"
        if node.fields["name"] != "BUF":
            node.fields["tensors"]["keep"] = rng.choice(("Nothing", "Nothing", "weight"))
        if rng.random() < 0.6:
            node.fields["total_latency"] = rng.choice(texts)


FEATURES: dict[str, Feature] = {
    one.__name__: one
    for one in (
        sizes, energies, latencies, enabled, sets, tiles, levels, resent, ordered, network, array,
        gates, bounds, spaces, initial, uneven, repeats, odd, nested, scaled, limits, idling,
    )
}  # fmt: skip
