"""Changes of random designs that touch the workload, or both files; see design_features.py.

Einsums in long form, with widths and persistence of single accesses; renames that are sets; what
memories keep and who is enabled, by Einsum; directions and rules by sets; expressions in lanes.
"""

from __future__ import annotations

import random
import re

from design_features import Design, Feature, Fields, Node

WAYS = ("up", "down", "up_and_down")


def accesses(rng: random.Random, design: Design) -> None:
    """Write Einsums in long form; some tensors get a width or persistence of their own."""
    einsums: list[Fields] = design.workload["einsums"]
    found = [_long(one) if rng.random() < 0.8 else one for one in einsums]
    text = " ".join(one["einsum"] for one in einsums)
    for einsum in found:
        for access in einsum.get("tensor_accesses", ()):
            if len(re.findall(rf"\b{access['name']}\[", text)) > 1:
                continue  # one width for all accesses of a tensor
            if rng.random() < 0.4:
                access["bits_per_value"] = rng.choice((2, 4, 12, 16))
            if not access.get("output") and rng.random() < 0.2:
                access["persistent"] = True
    design.workload["einsums"] = found


def _long(einsum: Fields) -> Fields:
    """Return an Einsum as a list of accesses, with projections as lists or mappings."""
    found: list[Fields] = []
    for name, inside in re.findall(r"(\w+)\[([^\]]*)\]", einsum["einsum"]):
        parts = [re.split(r":\s*", part) for part in inside.split(", ")]
        projection: object = [part[-1] for part in parts]
        if name == "B" or any(len(part) > 1 for part in parts):
            projection = {part[0] if part[1:] else part[0].upper(): part[-1] for part in parts}
        found.append({"name": name, "projection": projection})
    found[0]["output"] = True
    rest = {key: value for key, value in einsum.items() if key != "einsum"}
    return {"name": found[0]["name"], "tensor_accesses": found, **rest}


def renames(rng: random.Random, design: Design) -> None:
    """Rename with sets and let the rules use the names."""
    inputs = ("Inputs & Intermediates", "Inputs", "~(Outputs | Shared)", "Inputs if 1 else All")
    weights = ("~(input | output)", "Inputs - input", "Inputs - Intermediates", "Inputs & ~Shared")
    outputs = ("Outputs", "~Inputs", "All - input - weight", "All & Outputs")
    sources = {"input": inputs, "weight": weights, "output": outputs}
    for einsum in design.workload["einsums"]:
        chosen = {name: rng.choice(texts) for name, texts in sources.items()}
        if "output" in chosen["weight"] and "weight" in chosen["output"]:  # a circle
            chosen["output"] = "Outputs"
        einsum["renames"] = [{"name": name, "source": text} for name, text in chosen.items()]
        if rng.random() < 0.4:
            einsum["renames"].append({"name": "moved", "source": "input | output"})
    said = ("input", "weight", "output", "~weight", "input & Shared", "weight - Shared")
    for node in design.named("BUF", "REG"):
        rules = node.fields["tensors"]
        name = rng.choice(("no_refetch_from_above", "may_keep", "may_keep"))
        rules[name] = rng.choice(said) if name != "may_keep" else rng.choice(("All", *said))
        if node.fields["name"] == "REG":
            rules["keep"] = rng.choice((*said, "BUF & weight", "~BUF & input", "Nothing"))


def by_einsum(rng: random.Random, design: Design) -> None:
    """Let what memories keep, their sizes and their widths depend on the Einsum."""
    names = [re.findall(r"(\w+)\[", one["einsum"])[0] for one in design.workload["einsums"]]
    one = rng.choice(names)
    kept = (
        f"All if {one} else ~DRAM",
        f"~DRAM | ({one} & Outputs)",
        "~DRAM if len(Inputs) > 1 else All",
        f"{one} | ~DRAM",
        f"~DRAM | (weight if {one} & Outputs else Nothing)",
    )
    may = ("All", "All", f"All if {one} else Nothing", "Intermediates", f"~{one}", "~weight")
    for node in design.named("BUF"):
        node.fields["tensors"] |= {"keep": rng.choice(kept), "may_keep": rng.choice(may)}
        if rng.random() < 0.5:
            big, small = rng.choice((256, 512, 4096)), rng.choice((64, 128, 256))
            node.fields["size"] = f"{big} if {one} else {small}"
    for node in design.named("REG"):
        rules = node.fields["tensors"]
        rules["keep"] = rng.choice((f"{one} & Outputs", f"weight if {one} else Nothing", "Nothing"))
        rules["may_keep"] = rng.choice(may)
        if rng.random() < 0.5:
            node.fields["size"] = f"4 * len(All) * {rng.choice((2, 4, 8))}"


def enabled_by_einsum(rng: random.Random, design: Design) -> None:
    """Let components take part in some Einsums only."""
    names = [re.findall(r"(\w+)\[", one["einsum"])[0] for one in design.workload["einsums"]]
    one = rng.choice(names)
    texts = (f"{one} & Outputs", f"len({one}) == 0", "len(Inputs) == 2", "not weight", one)
    for node in design.named("BUF", "REG", "LINK", "WIRE", "ALU0", "MAC"):
        alone = node.fields["name"] == "MAC" and not list(design.named("ALU0"))
        if not alone and rng.random() < 0.5:
            node.fields["enabled"] = rng.choice(texts)


def tolled(rng: random.Random, design: Design) -> None:
    """Let Tolls pass what sets of all kinds say, and charge by them."""
    (first, *_) = re.findall(r"(\w+)\[", design.workload["einsums"][0]["einsum"])
    sets = ("Intermediates", "Outputs", "weight", "Shared", "input | output", first)
    sets = (*sets, f"Inputs - {first}")
    for node in design.nodes:
        if node.tag == "Toll":
            some = rng.choice(sets)
            node.fields["direction"] = {some: rng.choice(WAYS), f"~({some})": rng.choice(WAYS)}
            keep = rng.choice(("All", "Intermediates", "~Intermediates", "Nothing", *sets))
            node.fields["tensors"] = {"keep": keep, "may_keep": rng.choice(("All", "Nothing"))}
            if rng.random() < 0.3:
                node.fields["bits_per_value"] = {rng.choice(("Outputs", "weight")): 4}


def expressed(rng: random.Random, design: Design) -> None:
    """Write what says how lanes are used as expressions."""
    design.variables["part"] = rng.choice((0.25, 0.5, 1))
    design.variables["most"] = rng.choice((1, 2, 4))
    scales = ("part", "1 / most", "0.5 if weight else 1", "len(All) / 3", "2 * part")
    for node in design.nodes:
        for lanes in node.fields.get("spatial", ()):
            if rng.random() < 0.6:
                lanes["usage_scale"] = rng.choice(scales)
            if rng.random() < 0.4:
                lanes["min_usage"] = rng.choice(("part", "0.5 if len(Inputs) > 1 else 0", "1 / 2"))
            if rng.random() < 0.3:
                lanes["fanout"] = rng.choice(("2 * most", "4 if weight else 2", "len(All) + 1"))
            for bound in lanes.get("loop_bounds", ()):
                bound["value"] = rng.choice((bound["value"], "most", "2 * most"))


def unreachable(rng: random.Random, design: Design) -> None:
    """Ask for more lanes than rules or room allow, so that min_usage has to give way."""
    for node in design.nodes:
        for lanes in node.fields.get("spatial", ()):
            lanes["min_usage"] = rng.choice((0.6, 0.75, 1))
            lanes["fanout"] = rng.choice((3, 4, 5, 7, 8))
            if rng.random() < 0.4:
                lanes["reuse"] = rng.choice(("input", "weight", "output"))
            if rng.random() < 0.3:
                target = rng.choice((*design.names, "All.rank_variables"))
                limit = {"expression": target, "operator": "<=", "value": rng.choice((1, 2))}
                lanes["loop_bounds"] = [limit]


def sided(rng: random.Random, design: Design) -> None:
    """Put a small memory of some tensors beside the buffer: a third one, at any price."""
    fields: Fields = {"name": "SIDE", "size": rng.choice((64, 128, 512)), "area": 0}
    kept = rng.choice(("weight", "output", "input", "Intermediates", "weight - Intermediates"))
    fields |= {"leak_power": 0, "tensors": {"keep": kept, "may_keep": rng.choice((kept, "All"))}}
    prices = rng.choice(((1, 2), (4, 4), (12, 9)))
    pair = (("read", prices[0], 64), ("write", prices[1], 64))
    fields["actions"] = [{"name": n, "energy": e, "throughput": t} for n, e, t in pair]
    design.nodes.insert(design.below(rng.choice(("DRAM", "BUF"))), Node("Memory", fields))
    for node in design.named("BUF"):
        node.fields["tensors"]["keep"] = rng.choice(("~DRAM", "~(DRAM | SIDE)", "~Above"))
        node.fields["tensors"]["may_keep"] = rng.choice(("All", f"~({kept})"))
        if design.below("SIDE") > design.below("BUF"):
            node.fields["tensors"]["keep"] = "~DRAM"


WORKLOAD_FEATURES: dict[str, Feature] = {
    one.__name__: one
    for one in (
        accesses, renames, by_einsum, enabled_by_einsum, tolled, expressed, unreachable, sided,
    )
}  # fmt: skip
