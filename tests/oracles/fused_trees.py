"""One mapping of a workload from one list per Einsum."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, groupby, permutations, product

from fused_lists import INNER, OUTER
from fused_owns import Own, is_chip

from tilewright.mapper.mapping.mapping import Mapping, Node, Sequential, Spatial, Storage, Temporal
from tilewright.mapper.model.paths.path import Hold, Step, paths_of
from tilewright.mapper.workload.workload import Workload


def whole(workload: Workload, chosen: tuple[Own, ...], shared: list[int]) -> Mapping | None:
    nodes = tree(chosen, shared)
    if nodes is None:
        return None
    chip = {t for own in chosen for t in own.chip}
    chip |= {t for own in chosen for t in own.backed}
    outer = tuple(Storage((t,), OUTER) for t in workload.tensors if t not in chip)
    mapping = Mapping((*outer, *nodes))
    return mapping if says_the_same(mapping, chosen) else None


def tree(chosen: tuple[Own, ...], shared: list[int], done: int = 0) -> tuple[Node, ...] | None:
    """Merge lists that share `shared[b]` loops pairwise; None where they cannot be merged."""
    if len(chosen) == 1:
        return chosen[0].nodes
    split = min(shared)
    if any(o.fused < split - done or o.loops[: split - done] != chosen[0].loops[: split - done]
           for o in chosen):  # fmt: skip
        return None
    nodes: list[Node] = []
    memory = {t: where for own in chosen for t, where in own.memory.items()}
    rests = [list(own.nodes) for own in chosen]
    for _ in range(done, split):
        nodes += take_storages(rests)
        heads = [rest.pop(0) for rest in rests]
        nodes.append(heads[0])
    groups: list[list[int]] = [[0]]
    for boundary, depth in enumerate(shared):
        if depth == split:
            groups.append([])
        groups[-1].append(boundary + 1)
    parting = {
        t for t in chain(*(o.chip for o in chosen))
        if sum(any(is_chip(n, {t: memory[t]}) for i in g for n in rests[i]) for g in groups) > 1
    }  # fmt: skip
    leaving = {t: memory[t] for t in parting}
    nodes += [Storage((t,), memory[t]) for t in sorted(parting, key=lambda t: (memory[t], t))]
    rests = [[n for n in rest if not is_chip(n, leaving)] for rest in rests]
    branches = []
    for group in groups:
        part = tuple(
            Own(chosen[i].einsum, chosen[i].tensors, tuple(rests[i]),
                chosen[i].fused - (split - done), chosen[i].chip, memory) for i in group
        )  # fmt: skip
        branch = tree(part, shared[group[0] : group[-1]], split)
        if branch is None:
            return None
        branches.append(branch)
    return (*nodes, Sequential(tuple(branches)))


def take_storages(rests: list[list[Node]]) -> list[Node]:
    """Take the storages on top of all lists, in an order that keeps that of each if one does."""
    found: list[Node] = []
    for rest in rests:
        place = 0
        while isinstance(rest[0], Storage):
            node = rest.pop(0)
            if node not in found:
                found.insert(place, node)
            place = found.index(node) + 1
    return found


def arranged(mapping: Mapping, copies: list[Own]) -> Iterator[Mapping]:
    """Yield the mapping with neighbours in the inner memory in every order that is that of the
    lists of `copies`: which tile stands for another one may depend on it."""
    if not copies:
        yield mapping
        return
    for nodes in reordered(mapping.nodes):
        made = Mapping(nodes)
        paths = {path.einsum: path for path in paths_of(made)}
        if all(held_by(paths[own.einsum].steps, own) == order_of(own) for own in copies):
            yield made


def reordered(nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """Yield the nodes of a tree with each run of storages in the inner memory in every order."""
    ways: list[list[tuple[Node, ...]]] = []
    for inner, run in groupby(nodes, lambda n: isinstance(n, Storage) and n.component == INNER):
        some = tuple(run)
        if inner:
            ways.append(list(permutations(some)))
            continue
        for node in some:
            if not isinstance(node, Sequential):
                ways.append([(node,)])
                continue
            branches = product(*(reordered(branch) for branch in node.branches))
            ways.append([(Sequential(chosen),) for chosen in branches])
    for way in product(*ways):
        yield tuple(chain.from_iterable(way))


def held_by(steps: tuple[Step, ...], own: Own) -> list[str]:
    """Return what a path holds of the tensors that its Einsum keeps on chip, in order."""
    holds = [step for step in steps if isinstance(step, Hold) and step.component == INNER]
    return [step.tensor for step in holds if step.tensor in own.chip]


def order_of(own: Own) -> list[str]:
    """Return the tensors that an Einsum keeps on chip, in the order of its list."""
    return [node.tensors[0] for node in own.nodes if is_chip(node, own.memory)]


def says_the_same(mapping: Mapping, chosen: tuple[Own, ...]) -> bool:
    """Tell whether each Einsum sees in the tree what its own list says."""
    for path, own in zip(paths_of(mapping), chosen, strict=True):
        seen: list[object] = []
        for step in path.steps:
            if isinstance(step, Temporal | Spatial):
                seen.append(step)
            elif isinstance(step, Hold) and step.component != OUTER and step.tensor in own.tensors:
                seen.append(f"{step.component} {step.tensor}")
        wanted = [
            f"{n.component} {n.tensors[0]}" if isinstance(n, Storage) else n
            for n in own.nodes[:-1]
            if isinstance(n, Temporal | Spatial | Storage)
        ]
        if levels(seen) != levels(wanted):
            return False
    return True


def levels(items: list[object]) -> list[object]:
    """Sort what stands between two loops: its order means nothing here."""
    out: list[object] = []
    run: list[str] = []
    for item in items:
        if isinstance(item, str):
            run.append(item)
        else:
            out += [*sorted(run), item]
            run = []
    return out + sorted(run)
