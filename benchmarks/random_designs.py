"""Random small designs and workloads in the fields that both tools read, by kind.

A kind says what its cases are about; everything else in them is plain. Names and numbers are those
of no other file: the same kind and seed give the same case on every machine.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from design_features import FEATURES, Design, Fields, Node
from einsum_forms import (
    CHAINS,
    CONVOLUTIONS,
    COPIES,
    DAGS,
    GRAPHS,
    INDEXED,
    REDUCTIONS,
    RENAMED,
    SEVERAL_INPUTS,
    SINGLE,
    SLIDING,
    WINDOWS,
)
from workload_features import WORKLOAD_FEATURES

ROLES = ("input", "weight", "output")
SETS = (*ROLES, *ROLES, "~output", "~weight", "~input", "All")
OPERATORS = ("==", "<=", ">=", "<", ">", "product==", "product<=", "product>=", "product<")


@dataclass(frozen=True)
class Kind:
    """What the cases of a kind may have. `fanouts`: Containers or memories with lanes, of which
    `upper`: one always stands above the buffer or on it; `features`: see design_features.py."""

    forms: tuple[tuple[str, ...], ...] = SINGLE
    rules: tuple[str, ...] = ()
    lane_rules: tuple[str, ...] = ()
    fanouts: tuple[int, ...] = (0, 1)
    computes: tuple[int, ...] = (1,)
    tolls: tuple[int, ...] = (0,)
    extras: tuple[str, ...] = ()
    upper: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ("energy", "latency", "edp")


ANY_RULE = ("no_refetch_from_above", "order", "free", "back")
"""Not no_resend_to_below: AccelForge's own evaluator refuses most of what its mapper finds then."""
ANY_LANES = ("reuse", "may_reuse", "loop_bounds", "min_usage", "usage_scale", "power_gateable")
KINDS = {
    "forks": Kind((*SINGLE, *CHAINS[:2]), computes=(2, 3), fanouts=(0, 1)),
    "grids": Kind(fanouts=(2, 3), lane_rules=("reuse", "may_reuse", "min_usage")),
    "instances": Kind((*SINGLE, *CHAINS), extras=("instances", "parallel")),
    "persistent": Kind((*SINGLE[:4], *CHAINS, *DAGS), extras=("persistent", "instances")),
    "widths": Kind((*SINGLE, *CHAINS), extras=("widths", "values_per_action")),
    "copies": Kind(COPIES, rules=("no_refetch_from_above", "order"), tolls=(0, 0, 1)),
    "reuse": Kind(fanouts=(1, 2), lane_rules=("reuse", "may_reuse")),
    "bounds": Kind(fanouts=(1, 1, 2), lane_rules=("loop_bounds", "loop_bounds", "reuse")),
    "usage": Kind((*SINGLE, *CHAINS), fanouts=(1, 2), lane_rules=("min_usage", "usage_scale")),
    "orders": Kind((*SINGLE, *CHAINS[:2]), rules=("order", "order", "free", "back")),
    "tolls": Kind((*SINGLE, *CHAINS[:3]), tolls=(1, 2)),
    "dags": Kind((*DAGS, *CHAINS), rules=ANY_RULE, extras=("widths", "instances")),
    "lanes": Kind((*DAGS, *CHAINS), fanouts=(1,), lane_rules=ANY_LANES),
    "spread": Kind(
        (*DAGS, *CHAINS), fanouts=(1, 1, 2), upper=("TILE", "TILE", "BUF"),
        lane_rules=("may_reuse", "reuse", "min_usage", "loop_bounds"),
    ),
    "sliding": Kind(SLIDING, fanouts=(0, 0, 1)),
    "windows": Kind(WINDOWS, ANY_RULE, ("reuse", "may_reuse", "loop_bounds"), (0, 1)),
    "renamed": Kind(RENAMED, ANY_RULE, ("reuse", "may_reuse"), (0, 0, 1)),
    "sizes": Kind((*SINGLE, *CHAINS), ANY_RULE, features=("sizes",)),
    "energies": Kind((*SINGLE, *CHAINS), features=("energies", "spaces", "initial")),
    "latencies": Kind((*SINGLE, *CHAINS), features=("latencies",), objectives=("latency", "edp")),
    "enabled": Kind((*SINGLE, *CHAINS, *DAGS[:1]), computes=(1, 2), features=("enabled",)),
    "sets": Kind((*SINGLE, *SINGLE, *CHAINS, *DAGS), fanouts=(0, 1), features=("sets",)),
    "tiles": Kind((*SINGLE, *CHAINS), fanouts=(0, 1, 2), features=("tiles", "bounds")),
    "levels": Kind((*SINGLE, *CHAINS[:2]), features=("levels",)),
    "resent": Kind((*SINGLE, *SINGLE, *CHAINS), features=("levels", "resent")),
    "ordered": Kind((*SINGLE, *SINGLE, *CHAINS), features=("levels", "ordered")),
    "networks": Kind((*SINGLE[:5], *CHAINS[:2]), fanouts=(1,), features=("network",)),
    "arrays": Kind(SINGLE, (), ("reuse", "may_reuse"), (1,), features=("array",)),
    "gates": Kind((*SINGLE, *CHAINS[:2]), (), ANY_LANES, (1, 2), (1, 2), features=("gates",)),
    "uneven": Kind((*SINGLE, *CHAINS[:1]), ANY_RULE, ANY_LANES, features=("uneven",)),
    "repeats": Kind((*CHAINS, *DAGS), features=("repeats",)),
    "fronts": Kind(
        (*SINGLE, *CHAINS), ANY_RULE, ("reuse", "min_usage"), objectives=("energy|latency",)
    ),
    "indexed": Kind(INDEXED, fanouts=(0, 0, 1), lane_rules=("reuse", "may_reuse")),
    "accesses": Kind((*SINGLE, *CHAINS, *WINDOWS[:3]), ANY_RULE, features=("accesses",)),
    "names": Kind((*SINGLE, *CHAINS, *DAGS), fanouts=(0, 1), features=("renames",)),
    "keeps": Kind((*CHAINS, *DAGS), features=("by_einsum",)),
    "taken": Kind((*CHAINS, *DAGS), computes=(1, 2), features=("enabled_by_einsum",)),
    "tolled": Kind((*CHAINS, *DAGS), tolls=(1, 2), features=("tolled",)),
    "expressed": Kind(
        (*SINGLE, *CHAINS), (), ANY_LANES, (1, 2), features=("expressed",)
    ),
    "unreachable": Kind((*SINGLE, *CHAINS, *DAGS), fanouts=(1, 1, 2), features=("unreachable",)),
    "sided": Kind((*SINGLE, *CHAINS, *CHAINS), ANY_RULE, features=("sided",)),
    "hierarchies": Kind(
        (*SINGLE, *CHAINS[:2]), ANY_RULE, ANY_LANES, (0, 1, 1), features=("levels", "ordered")
    ),
    "used": Kind(
        (*SINGLE, *CHAINS, *DAGS), fanouts=(0, 0, 1), objectives=("energy|latency|usage",)
    ),
    "manifold": Kind(
        (*CHAINS, *DAGS), fanouts=(0, 1), extras=("instances", "persistent", "widths", "parallel"),
        features=("tolled", "by_einsum"), tolls=(0, 1),
    ),
    "convolutions": Kind(CONVOLUTIONS, ANY_RULE, ANY_LANES, (0, 0, 1, 2)),
    "products": Kind(SEVERAL_INPUTS, ANY_RULE, ANY_LANES, (0, 1, 2), extras=("widths",)),
    "reductions": Kind(REDUCTIONS, ANY_RULE, ANY_LANES, (0, 1, 1)),
    "graphs": Kind(GRAPHS, ANY_RULE, ANY_LANES, (0, 0, 1), extras=("widths",)),
    "odd": Kind((*SINGLE, *CHAINS), (), ANY_LANES, (1, 1, 2), features=("odd",)),
    "nested": Kind((*SINGLE, *CHAINS), ANY_RULE, ANY_LANES, (1, 2), features=("nested",)),
    "scaled": Kind((*SINGLE, *CHAINS), fanouts=(0, 1), features=("scaled", "gates")),
    "limits": Kind((*SINGLE, *CHAINS[:2]), (), ANY_LANES, (2, 3), features=("limits",)),
    "idling": Kind((*SINGLE, *CHAINS, *DAGS), ANY_RULE, features=("levels", "idling")),
    "traded": Kind(
        (*DAGS, *GRAPHS, *CHAINS), (), ANY_LANES, (0, 1, 1), objectives=("energy|latency",)
    ),
    "deep": Kind(
        (*CHAINS, *DAGS, *GRAPHS), ANY_RULE, ANY_LANES, (0, 1), features=("levels", "gates")
    ),
    "meshes": Kind(SINGLE[:5], (), ("reuse", "may_reuse"), (1, 2), features=("network", "odd")),
    "all": Kind(
        (*SINGLE, *CHAINS, *DAGS, *COPIES), ANY_RULE, ANY_LANES, (0, 1, 2), (1, 1, 2), (0, 0, 1),
        ("widths", "instances", "parallel", "persistent", "values_per_action"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One design, one workload, one objective; `uneven`: all rank variables may have uneven tiles;
    `repeats`: loops over one rank variable that Einsums may share."""

    arch: str
    workload: str
    objective: str
    uneven: bool = False
    repeats: int = 1


def random_case(kind: str, seed: int) -> Case:
    """Return the case of this number."""
    rng = random.Random(f"{kind} {seed}")
    about = KINDS[kind]
    texts = rng.choice(about.forms)
    names = sorted({c for text in texts for c in text.removeprefix("copy ") if c.islower()})
    nodes = _nodes(rng, about, names, len(texts))
    design = Design(nodes, _workload(rng, about, texts, names), names)
    objective = rng.choice(about.objectives)
    for feature in about.features:
        {**FEATURES, **WORKLOAD_FEATURES}[feature](rng, design)
    arch = f"arch:\n  variables: {written(design.variables)}\n" if design.variables else "arch:\n"
    arch += "  nodes:\n" + "".join(f"  - {written(node)}\n" for node in design.nodes)
    workload = f"workload: {written(design.workload)}\n"
    return Case(arch, workload, objective, design.uneven, design.repeats)


def written(value: object) -> str:
    """Write a value in YAML's flow style."""
    if isinstance(value, Node):
        return f"!{value.tag} {written(value.fields)}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(k)}: {written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if value.replace("_", "").isalnum() else f'"{value}"'
    return repr(value)


def _workload(rng: random.Random, about: Kind, texts: tuple[str, ...], names: list[str]) -> Fields:
    few = (2, 4, 6) if len(texts) > 1 or len(names) > 3 else (2, 3, 4, 6, 8)
    ranks = {name.upper(): rng.choice(few if name not in "rcb" else (2, 3)) for name in names}
    for rank, one, two in re.findall(r"(P): (\w) \+ (\w)", " ".join(texts)):
        ranks[rank] = ranks[one.upper()] + ranks[two.upper()] - 1
    for rank, other in re.findall(r"([A-Z]): (\w)[,\]]", " ".join(texts)):
        if rank in ranks and other.upper() in ranks:
            ranks[other.upper()] = ranks[rank]
    if "uneven" in about.features:
        ranks = {rank: rng.choice((3, 5, 6, 7)) for rank in ranks}
    einsums = [_einsum(rng, about, text) for text in texts]
    widths: Fields = {"All": rng.choice((4, 8, 8, 16))}
    if "widths" in about.extras and rng.random() < 0.5:
        first = "input" if len(texts) == 1 else "A"
        widths = {first: rng.choice((2, 4, 16)), f"~{first}": 8}
    fields: Fields = {"rank_sizes": ranks, "bits_per_value": widths, "einsums": einsums}
    if "persistent" in about.extras and rng.random() < 0.7:
        fields["persistent_tensors"] = rng.choice(("A", "B", "weight - Intermediates"))
    if "instances" in about.extras and rng.random() < 0.5:
        fields["n_instances"] = rng.choice((2, 3))
    return fields


def _einsum(rng: random.Random, about: Kind, text: str) -> Fields:
    copied = text.startswith("copy ")
    text = text.removeprefix("copy ")
    output, right = text.split(" = ")
    read = [part.split("[")[0] for part in right.split(" * ") if part[0].isupper()]
    renames = {"input": read[0], "weight": "Nothing", "output": output.split("[")[0]}
    if len(read) > 1:
        renames["weight"] = read[1]
    fields: Fields = {"einsum": text, "renames": renames}
    if copied:
        fields["is_copy_operation"] = True
    if "instances" in about.extras and rng.random() < 0.4:
        fields["n_instances"] = rng.choice((2, 5))
    return fields


def _nodes(rng: random.Random, about: Kind, names: list[str], einsums: int) -> list[Node]:
    whole = rng.random() < 0.15
    outer: Fields = {"keep": "All"} if whole else {"keep": "~Intermediates", "may_keep": "All"}
    nodes = [_memory(rng, about, "DRAM", rng.choice((1000000, "inf")), outer)]
    tolls = rng.choice(about.tolls)
    fanouts = rng.choice(about.fanouts)
    if tolls:
        nodes.append(_toll(rng, about, "LINK"))
    upper = rng.choice(about.upper) if about.upper else ""
    if upper == "TILE" or (not upper and fanouts > 1 and rng.random() < 0.4):
        nodes.append(_container(rng, about, names, "TILE"))
        fanouts -= 1
    sizes = (64, 128, 256, 512, 1024, 4096) if einsums == 1 else (128, 256, 512, 1024, "inf")
    kept = rng.choice(({"keep": "~DRAM"}, {"keep": "All"}, {"keep": rng.choice(SETS)}))
    if einsums > 1 and not whole:  # else a tensor may be kept nowhere, at which AccelForge fails
        kept = rng.choice(({"keep": "~DRAM"}, {"keep": "~DRAM"}, {"keep": "All"}))
    nodes.append(_memory(rng, about, "BUF", rng.choice(sizes), kept | {"may_keep": "All"}, "rules"))
    if backed := nodes[-1].fields["tensors"].get("back"):  # then nothing above may have to keep it
        outer["keep"] = f"~{backed}" if whole else f"~(Intermediates | {backed})"
        nodes[0].fields["tensors"].update(outer)
    if upper == "BUF" or (not upper and fanouts > 1 and rng.random() < 0.3):
        nodes[-1].fields["spatial"] = _spatial(rng, about, names, "z")
        fanouts -= 1
    computes = [_compute(rng, f"ALU{n}") for n in range(rng.choice(about.computes) - 1)]
    nodes += [_fork(rng, about, [compute]) for compute in computes[:1]]
    if fanouts:
        nodes.append(_container(rng, about, names, "PE"))
        fanouts -= 1
    if tolls > 1:
        nodes.append(_toll(rng, about, "WIRE"))
    if rng.random() < (0.5 if einsums == 1 else 0.25):
        kept = rng.choice(({"keep": "weight"}, {"keep": "Nothing", "may_keep": rng.choice(SETS)}))
        nodes.append(_memory(rng, about, "REG", rng.choice((8, 16, 32, 64)), kept, "rules"))
    nodes += [_fork(rng, about, [compute]) for compute in computes[1:]]
    nodes.append(_compute(rng, "MAC"))
    if fanouts:
        nodes[-1].fields["spatial"] = _spatial(rng, about, names, "v")
    return nodes


def _fork(rng: random.Random, about: Kind, nodes: list[Node]) -> Node:
    if rng.random() < 0.3:
        name = f"SIDE{nodes[0].fields['name'][-1]}"
        nodes = [_memory(rng, about, name, rng.choice((32, 64)), {"keep": "output"}), *nodes]
    return Node("Fork", {"nodes": nodes})


COSTS = {"DRAM": (100, 64), "BUF": (5, 256), "REG": (1, "inf"), "SIDE0": (2, 512), "SIDE1": (3, 64)}


def _memory(
    rng: random.Random, about: Kind, name: str, size: object, kept: Fields, *has: str
) -> Node:
    energy, throughput = COSTS[name]
    rules = dict(kept)
    for _ in range(rng.choice((0, 1, 1, 2)) if has and about.rules else 0):
        rules |= rule(rng, rng.choice(about.rules), name)
    fields: Fields = {"name": name, "size": size, "area": 0, "tensors": rules}
    fields["leak_power"] = rng.choice((0, 0, 0, 2))
    if "widths" in about.extras and rng.random() < 0.4:
        fields["bits_per_value"] = {rng.choice(ROLES): rng.choice((2, 4, 12))}
    if "parallel" in about.extras and rng.random() < 0.3:
        fields["n_parallel_instances"] = rng.choice((2, 4))
    if rng.random() < 0.2:
        fields["skip_initial_output_write"] = False
    fields["actions"] = [
        _action(rng, about, "read", energy, throughput),
        _action(rng, about, "write", energy + 1, throughput if name != "DRAM" else 32),
    ]
    return Node("Memory", fields)


def _action(
    rng: random.Random, about: Kind, name: str, energy: float, throughput: object
) -> Fields:
    fields: Fields = {"name": name, "energy": energy, "throughput": throughput}
    if "values_per_action" in about.extras and rng.random() < 0.3:
        fields["values_per_action"] = {"weight": rng.choice((2, 4)), "Other": 1}
    elif "widths" in about.extras and rng.random() < 0.3:
        fields["bits_per_action"] = rng.choice((8, 32))
    return fields


def rule(rng: random.Random, name: str, memory: str) -> Fields:
    """Return a constraint of a memory on its tensors."""
    if name == "order":
        one, two, three = rng.sample(ROLES, 3)
        lists = ([one, two, three], [one, f"{two} | {three}"], [one, two], [one, f"~{one}"])
        return {"tensor_order_options": rng.sample(lists, rng.choice((1, 1, 2)))}
    if name == "free":
        return {"force_memory_hierarchy_order": False}
    if name == "back":
        return {"back": rng.choice(ROLES)} if memory == "BUF" else {}
    return {name: rng.choice(SETS)}


def _toll(rng: random.Random, about: Kind, name: str) -> Node:
    ways = ("up", "down", "up_and_down")
    direction: object = rng.choice(ways)
    if rng.random() < 0.5:
        role = rng.choice(ROLES)  # not `Other`, which AccelForge refuses here
        direction = {role: rng.choice(ways), f"~{role}": rng.choice(ways)}
    kept = {"keep": rng.choice(("All", *ROLES)), "may_keep": rng.choice(("Nothing", "All"))}
    fields: Fields = {"name": name, "direction": direction, "area": 0, "leak_power": 0}
    fields |= {"tensors": kept, "actions": [_action(rng, about, "read", 3, rng.choice((32, 100)))]}
    return Node("Toll", fields)


def _container(rng: random.Random, about: Kind, names: list[str], name: str) -> Node:
    dims = rng.choice(("x", "x", "xy")) if name == "PE" else "t"
    found = [one for dim in dims for one in _spatial(rng, about, names, dim)]
    return Node("Container", {"name": name, "spatial": found})


def _spatial(rng: random.Random, about: Kind, names: list[str], name: str) -> list[Fields]:
    fields: Fields = {"name": name, "fanout": rng.choice((2, 3, 4, 4, 8))}
    for _ in range(rng.choice((0, 1, 1, 2)) if about.lane_rules else 0):
        fields |= lane_rule(rng, rng.choice(about.lane_rules), names)
    return [fields]


def lane_rule(rng: random.Random, name: str, names: list[str]) -> Fields:
    """Return a constraint of a dimension of lanes."""
    if name in ("reuse", "may_reuse"):
        return {name: rng.choice((*ROLES, "Nothing", "~output", "input | weight"))}
    if name == "min_usage":
        return {name: rng.choice((0.5, 0.75, 1, 1))}
    if name == "usage_scale":
        return {name: rng.choice((0.5, 2))}
    if name == "power_gateable":
        return {name: True}
    targets = (*names, f"~{names[0]}", f"{names[0]} | {names[-1]}", "weight.rank_variables")
    return {
        name: [
            {
                "expression": rng.choice((*targets, "output.rank_variables", "All.rank_variables")),
                "operator": rng.choice(OPERATORS),
                "value": rng.choice((1, 1, 2, 4)),
            }
            for _ in range(rng.choice((1, 1, 2)))
        ]
    }


def _compute(rng: random.Random, name: str) -> Node:
    energy, throughput = (0.5, 1) if name == "MAC" else rng.choice(((0.25, 0.5), (2, 3), (1, 2)))
    action = {"name": "compute", "energy": energy, "throughput": throughput}
    leak = rng.choice((0, 0, 1))
    fields = {"name": name, "area": 0, "leak_power": leak, "actions": [action]}
    return Node("Compute", fields)
