"""Which Einsums of a mapping on a grid run as one program, and the mapping of each Einsum.

A `Sequential` runs its branches one after the other. A `Pipeline` runs the Einsums of its branches
as one program, turn after turn of the loop above it (theory/grid.md §13).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from itertools import chain

from tilewright.arch.components.components import Memory
from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError
from tilewright.mapper.workload.workload import Workload

Nodes = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class EinsumGroup:
    """Einsums of a workload that run as one program, or one Einsum alone.

    `mappings`: of each Einsum, by name, in the order in which they run. `passed`: tensors that one
    of them computes for others of them; the elements hold one tile of each at a time. `turns`:
    number of loops in time above all of them, 0 or 1.
    """

    mappings: Dict[str, Mapping]
    passed: frozenset[str] = frozenset()
    turns: int = 0

    @property
    def is_pipeline(self) -> bool:
        """Whether several Einsums run as one program."""
        return len(self.mappings) > 1


def einsum_groups(mapping: Mapping, workload: Workload, grid: Grid) -> tuple[EinsumGroup, ...]:
    """Return the groups of Einsums of a mapping in the order of the workload.

    Raises InfeasibleMapping if Einsums share loops in another way than a Pipeline, MappingError if
    one is missing.
    """
    groups = [_placed(group, mapping) for group in _groups((), mapping.nodes, workload, grid)]
    names = [einsum.name for einsum in workload.einsums]
    by_einsum = {name: group for group in groups for name in group.mappings}
    missing = [name for name in names if name not in by_einsum]
    if missing:
        raise MappingError(
            f"the mapping computes no Einsum {missing[0]}", instead="a branch for each Einsum"
        )
    ordered = sorted(groups, key=lambda group: min(map(names.index, group.mappings)))
    order = [name for group in ordered for name in group.mappings]
    if order != names:
        raise InfeasibleMapping(
            "a Pipeline has other Einsums than neighbours of the workload, in its order",
            value=", ".join(order),
            instead=", ".join(names),
        )
    return tuple(ordered)


def _placed(group: EinsumGroup, mapping: Mapping) -> EinsumGroup:
    """Return a group of one Einsum with the places of its nodes in the file of the mapping.

    Nodes that are not those of the file have the place of its Compute; in a Pipeline all nodes are
    others.
    """
    if group.is_pipeline or not mapping.places:
        return group
    by_node = dict(zip(map(id, _all_nodes(mapping.nodes)), mapping.places, strict=True))
    return replace(
        group,
        mappings={
            name: replace(
                nest,
                places=tuple(by_node.get(id(n), by_node[id(nest.nodes[-1])]) for n in nest.nodes),
            )
            for name, nest in group.mappings.items()
        },
    )


def _all_nodes(nodes: Nodes) -> Iterator[Node]:
    """Yield all nodes, depth first."""
    for node in nodes:
        yield node
        if isinstance(node, Sequential):
            for branch in node.branches:
                yield from _all_nodes(branch)


def _groups(above: Nodes, nodes: Nodes, workload: Workload, grid: Grid) -> Iterator[EinsumGroup]:
    last, before = nodes[-1], (*above, *nodes[:-1])
    if isinstance(last, ComputeNode):
        kept = _restricted(before, workload.einsum(last.einsum).tensors)
        yield EinsumGroup({last.einsum: Mapping((*kept, last))})
    elif isinstance(last, Sequential) and last.kind == "Pipeline":
        yield _pipeline(before, last, workload, grid)
    elif isinstance(last, Sequential):
        if not all(isinstance(node, Storage) for node in before):
            raise InfeasibleMapping(
                "loops stand above several Einsums of a Sequential, which run one after the other",
                instead="a Pipeline, which runs them turn after turn, or loops below the branches",
            )
        for branch in last.branches:
            yield from _groups(before, branch, workload, grid)


def _restricted(nodes: Nodes, tensors: Container[str]) -> Iterator[Node]:
    """Yield nodes with the Storages of some tensors only."""
    for node in nodes:
        if isinstance(node, Storage):
            yield from _of(node, tensors)
        else:
            yield node


def _of(node: Storage, tensors: Container[str]) -> list[Node]:
    """Return the Storage of some of a node's tensors; nothing if it stores none of them."""
    names = tuple(name for name in node.tensors if name in tensors)
    if names == node.tensors:
        return [node]
    return [replace(node, tensors=names)] if names else []


# -- pipelines ---------------------------------------------------------------------------------


def _pipeline(above: Nodes, node: Sequential, workload: Workload, grid: Grid) -> EinsumGroup:
    """Return the group of a Pipeline, with the nodes above it in the mapping of each Einsum."""
    branches = [_branch_of(branch) for branch in node.branches]
    names = [branch[-1].einsum for branch in branches if isinstance(branch[-1], ComputeNode)]
    turns = _turns(above)
    passed, outside = _passed(names, workload), _stored((*above, *chain(*branches)), grid.host)
    _check_passed(names, passed, outside, workload, grid)
    mappings = {
        name: _Rewriting(workload, grid, name, passed, outside).mapping(above, branch)
        for name, branch in zip(names, branches, strict=True)
    }
    return EinsumGroup(mappings, passed, turns)


def _turns(above: Nodes) -> int:
    """Return the number of loops in time above a Pipeline; raise InfeasibleMapping beyond one."""
    loops = [node.rank_variable for node in above if isinstance(node, Temporal)]
    if len(loops) > 1:
        raise InfeasibleMapping(
            f"{len(loops)} loops in time stand above a Pipeline",
            value=", ".join(loops),
            instead="at most one: its turns are those of the Pipeline",
        )
    return len(loops)


def _stored(nodes: Iterable[Node], memory: Memory) -> set[str]:
    """Return the tensors that a memory holds."""
    storages = [n for n in nodes if isinstance(n, Storage) and n.component == memory.name]
    return {tensor for storage in storages for tensor in storage.tensors}


def _branch_of(branch: Nodes) -> Nodes:
    if isinstance(branch[-1], Sequential):
        raise InfeasibleMapping(
            f"a {branch[-1].kind} stands below a Pipeline", instead="one Einsum in each branch"
        )
    return branch


def _passed(names: list[str], workload: Workload) -> frozenset[str]:
    """Return the tensors that one of some Einsums computes and another one of them reads."""
    einsums = [workload.einsum(name) for name in names]
    read = {access.tensor for einsum in einsums for access in einsum.inputs}
    return frozenset(a.tensor for einsum in einsums for a in einsum.outputs if a.tensor in read)


def _check_passed(
    names: list[str], passed: frozenset[str], outside: set[str], workload: Workload, grid: Grid
) -> None:
    """Raise InfeasibleMapping unless the Einsums of a Pipeline pass on tensors in the elements.

    No other Einsum uses these.
    """
    times = {name: workload.einsum(name).n_instances for name in names}
    if len(set(times.values())) > 1:
        raise InfeasibleMapping(
            "the Einsums of a Pipeline have different n_instances",
            value=", ".join(f"{name}: {number}" for name, number in times.items()),
            instead="a Sequential, with what they exchange outside the grid",
        )
    for tensor in sorted(passed & outside):
        raise InfeasibleMapping(
            f"{tensor} passes from Einsum to Einsum of a Pipeline, and stands in {grid.host.name}",
            instead=f"no Storage of {tensor} in {grid.host.name}, or a Sequential",
        )
    for einsum in workload.einsums:
        used = passed & set(einsum.tensors)
        if einsum.name not in names and used:
            raise InfeasibleMapping(
                f"{einsum.name} uses {min(used)}, of which a Pipeline without it keeps one tile",
                instead=f"{einsum.name} in the Pipeline, too, or a Sequential",
            )
        if einsum.name in names and not used:
            raise InfeasibleMapping(
                f"{einsum.name} passes nothing to another Einsum of its Pipeline, and gets nothing",
                instead=f"{einsum.name} before or behind the Pipeline, in a Sequential",
            )


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """Writes the mapping of one Einsum of a Pipeline with the nodes that it shares.

    What is whole in the elements stands above the loop of the turns: their shares, tensors that go
    nowhere outside, and those that the loop does not index.
    """

    workload: Workload
    grid: Grid
    einsum: str
    passed: frozenset[str]
    outside: set[str]

    def mapping(self, above: Nodes, branch: Nodes) -> Mapping:
        """Return the mapping from the nodes above a Pipeline and those of a branch."""
        kept = [each for node in (*above, *branch) for each in self._own(node)]
        loop = next((node for node in above if isinstance(node, Temporal)), None)
        if loop is None:
            return Mapping(tuple(kept))
        (turns,) = self._own(loop)
        assert isinstance(turns, Temporal)
        first = kept.index(turns)
        hoisted, rest = self._hoisted(kept[first + 1 :], turns)
        return Mapping((*kept[:first], *hoisted, turns, *rest))

    def _hoisted(self, nodes: Sequence[Node], turns: Temporal) -> tuple[list[Node], list[Node]]:
        """Return the nodes that go above the loop of the turns, and those that stay below it."""
        hoisted, rest = list[Node](), list[Node]()
        for node in nodes:
            if isinstance(node, Spatial):
                hoisted.append(self._share(node, turns))
            elif isinstance(node, Storage) and node.component == self.grid.memory.name:
                whole = () if _has_loop(rest) else self._whole(node, turns)
                hoisted += _of(node, whole)
                rest += _of(node, set(node.tensors) - set(whole))
            else:
                rest.append(node)
        return hoisted, rest

    def _own(self, node: Node) -> list[Node]:
        """Return a node with the tensors and the names of rank variables of the Einsum.

        Nothing for a Storage of none of its tensors.
        """
        einsum = self.workload.einsum(self.einsum)
        if isinstance(node, Storage):
            return _of(node, einsum.tensors)
        if not isinstance(node, Temporal | Spatial):
            return [node]
        name = dict(node.names).get(self.einsum, node.rank_variable)
        if name not in einsum.bounds:
            raise InfeasibleMapping(
                f"a loop over {name} stands above {self.einsum}, which has no such rank variable",
                value=", ".join(einsum.bounds),
                instead="a loop below the branches, or the name of the variable in `names`",
            )
        return [replace(node, rank_variable=name, names=())]

    def _share(self, node: Spatial, turns: Temporal) -> Spatial:
        if node.rank_variable != turns.rank_variable:
            return node
        raise InfeasibleMapping(
            f"elements share {node.rank_variable} below the loop of a Pipeline over it",
            instead=f"the loop over {node.name} above the loop in time",
        )

    def _whole(self, node: Storage, turns: Temporal) -> tuple[str, ...]:
        """Return the tensors of a Storage that are whole in the elements in all turns."""
        einsum, entering = self.workload.einsum(self.einsum), self.outside
        kept = [name for name in node.tensors if name not in self.passed]
        return tuple(
            name
            for name in kept
            if name not in entering or turns.rank_variable not in einsum.access(name).rank_variables
        )


def _has_loop(nodes: list[Node]) -> bool:
    return any(isinstance(node, Temporal) for node in nodes)


def in_sequence(groups: tuple[EinsumGroup, ...], grid: Grid) -> Mapping:
    """Return the mapping that runs the Einsums one after the other, with the loops of a pipeline.

    What passes from Einsum to Einsum is whole in the elements then.
    """
    branches = [
        mapping.nodes if not group.is_pipeline else _whole(mapping.nodes, group.passed, grid)
        for group in groups
        for mapping in group.mappings.values()
    ]
    return Mapping((Sequential(tuple(branches)),)) if len(branches) > 1 else Mapping(branches[0])


def _whole(nodes: Nodes, passed: frozenset[str], grid: Grid) -> Nodes:
    """Return nodes with the Storages of passed tensors above all loops in time."""
    hoisted, others = list[Node](), list[Node]()
    for node in nodes:
        if isinstance(node, Storage) and node.component == grid.memory.name:
            hoisted += _of(node, passed)
            others += _of(node, set(node.tensors) - passed)
        else:
            others.append(node)
    place = next((n for n, node in enumerate(others) if isinstance(node, Temporal)), len(others))
    return (*others[:place], *hoisted, *others[place:])
