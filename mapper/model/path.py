"""The path of one Einsum through a mapping: from the outermost node down to its Compute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.arch.errors import Where
from tilewright.mapper.mapping.mapping import (
    Compute,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    Toll,
)
from tilewright.mapper.workload.errors import MappingError


@dataclass(frozen=True, slots=True)
class Hold:
    """One tensor of a Storage or Toll node on the path of an Einsum.

    `tensor`, `component`: names. `persistent`: it stays for all instances of the Einsum. `toll`:
    the component is a Toll, which only passes values. `origin`: number of the node in the whole
    mapping.
    """

    tensor: str
    component: str
    persistent: bool
    toll: bool
    origin: int


@dataclass(frozen=True, slots=True)
class Split:
    """A Sequential node on the path of an Einsum, where a fused mapping branches.

    `number`: of that node in the whole mapping, depth first. `branch`: which of its branches the
    path takes, from 0. `position`: how many steps of the path stand above it.
    """

    number: int
    branch: int
    position: int


Step = Hold | Temporal | Spatial


@dataclass(frozen=True, slots=True)
class Path:
    """The way of one Einsum through a mapping, from the outermost node to its Compute.

    `einsum`, `component`: names of the Einsum and of the Compute. `steps`: holders of tensors and
    loops, outermost first, without the Compute. `origins[i]`: number of the node of step i in the
    whole mapping, depth first; `end`: that of the Compute. `splits`: the Sequential nodes on the
    way. `places[n]`: place of node n in a file; empty if the mapping has no file.
    """

    einsum: str
    component: str
    steps: tuple[Step, ...]
    origins: tuple[int, ...]
    splits: tuple[Split, ...] = ()
    places: tuple[Where, ...] = ()
    end: int = -1

    def where(self, step: int | None = None) -> Where | None:
        """Return file, line and column of a step (its index), or of the Compute if None.

        None if the mapping has no file.
        """
        number = self.end if step is None else self.origins[step]
        return self.places[number] if 0 <= number < len(self.places) else None


class _Walker:
    """Walks the tree of nodes depth first and numbers every node once.

    A node that several paths share so has one number. `places`: of the nodes in a file.
    """

    def __init__(self, places: tuple[Where, ...]) -> None:
        self._numbers = 0
        self._places = places
        self._holds: dict[int, list[Hold]] = {}  # of a Storage, by its number

    def walk(
        self,
        nodes: tuple[Node, ...],
        nodes_above: tuple[tuple[int, Node], ...],
        splits: tuple[Split, ...],
    ) -> Iterator[Path]:
        taken = list(nodes_above)
        for place, node in enumerate(nodes):
            number = self._numbers
            self._numbers += 1
            if isinstance(node, Compute):
                _nothing_after(nodes, place, "Compute")
                path = _path(node, taken, splits, self._holds)
                yield replace(path, places=self._places, end=number)
                return
            if isinstance(node, Sequential):
                _nothing_after(nodes, place, "Sequential")
                yield from self._branches(node, number, taken, splits)
                return
            taken.append((number, node))
        raise MappingError(
            "a list of nodes has to end in a Compute or a Sequential",
            value=str(nodes[-1]) if nodes else "no nodes",
            instead="add `!Compute {einsum: …, component: …}` at the end",
        )

    def _branches(
        self,
        node: Sequential,
        number: int,
        taken: list[tuple[int, Node]],
        splits: tuple[Split, ...],
    ) -> Iterator[Path]:
        for branch, nodes in enumerate(node.branches):
            split = Split(number, branch, len(taken))
            yield from self.walk(nodes, tuple(taken), (*splits, split))


def paths_of(mapping: Mapping) -> tuple[Path, ...]:
    """Return one Path per Compute of a mapping, in the order of execution.

    A path has the holders and loops from the outermost node down to that Compute. Raises
    MappingError if a list of nodes does not end in a Compute or a Sequential, or goes on after
    one.
    """
    return tuple(_Walker(mapping.places).walk(mapping.nodes, (), ()))


def _nothing_after(nodes: tuple[Node, ...], place: int, kind_name: str) -> None:
    if place != len(nodes) - 1:
        raise MappingError(
            f"nothing may follow a {kind_name} in its list of nodes",
            value=str(nodes[place + 1]),
            instead=f"move it above the {kind_name}",
        )


def _path(
    node: Compute,
    taken: list[tuple[int, Node]],
    splits: tuple[Split, ...],
    holds: dict[int, list[Hold]],
) -> Path:
    """Return the path to a Compute: each tensor of a Storage is one step, in the order written.

    holds: the steps of the Storages seen so far, by number.
    """
    steps: list[Step] = []
    origins: list[int] = []
    starts: list[int] = []  # starts[i]: number of steps before the i-th node
    for number, item in taken:
        starts.append(len(steps))
        added: list[Step] = []
        if isinstance(item, Storage):
            if number not in holds:
                holds[number] = _holds(item, number)
            added += holds[number]
        elif isinstance(item, Temporal | Spatial) and item.names:
            variable = dict(item.names).get(node.einsum, item.rank_variable)
            added.append(replace(item, rank_variable=variable, names=()))
        elif isinstance(item, Temporal | Spatial):
            added.append(item)
        steps += added
        origins += [number] * len(added)
    starts.append(len(steps))
    placed = tuple(Split(s.number, s.branch, starts[s.position]) for s in splits)
    return Path(node.einsum, node.component, tuple(steps), tuple(origins), placed)


def _holds(node: Storage, number: int) -> list[Hold]:
    toll = isinstance(node, Toll)
    return [Hold(t, node.component, node.persistent, toll, number) for t in node.tensors]


def restrict(path: Path, tensors: frozenset[str]) -> Path:
    """Return the path without the holders of tensors other than `tensors`.

    Loops stay; splits keep their places (theory/model.md §2.2).
    """
    places = [
        place
        for place, step in enumerate(path.steps)
        if not isinstance(step, Hold) or step.tensor in tensors
    ]
    return path if len(places) == len(path.steps) else keep(path, places)


def keep(path: Path, places: list[int]) -> Path:
    """Return the path with only some of its steps (holders of tensors and loops).

    `places`: ascending indices into `path.steps`. Splits (places where a fused mapping branches)
    move along.
    """
    splits = tuple(
        replace(split, position=sum(1 for place in places if place < split.position))
        for split in path.splits
    )
    steps = tuple(path.steps[place] for place in places)
    origins = tuple(path.origins[place] for place in places)
    return replace(path, steps=steps, origins=origins, splits=splits)
