"""The path of one Einsum through a mapping: from the outermost node down to its Compute."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from tilewright.arch.errors import Where
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    TollNode,
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
Tensors = Collection[str]
TensorsOf = Callable[[str], Tensors]


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


class _Prefix:
    """The nodes above a Sequential or a Compute, as steps, by what they hold.

    An Einsum mostly holds few of the tensors above a Sequential of many. `steps`, `origins`: as of
    a Path, but with loops under the names of the mapping.
    """

    def __init__(self, outer: _Prefix | None) -> None:
        """Begin with the steps of `outer`, the nodes further up; None: there are none."""
        self.steps: list[Step] = [] if outer is None else list(outer.steps)
        self.origins: list[int] = [] if outer is None else list(outer.origins)
        self._loops: list[int] = [] if outer is None else list(outer._loops)
        self._holds: dict[str, list[int]] = {}
        self._outer = outer

    def append(self, number: int, node: Node) -> None:
        """Put a node below the others; each tensor of a Storage is one step."""
        if isinstance(node, Temporal | Spatial):
            self._loops.append(len(self.steps))
            self.steps.append(node)
        elif isinstance(node, Storage):
            toll = isinstance(node, TollNode)
            for tensor in node.tensors:
                self._holds.setdefault(tensor, []).append(len(self.steps))
                self.steps.append(Hold(tensor, node.component, node.persistent, toll, number))
        self.origins += [number] * (len(self.steps) - len(self.origins))

    def path(self, node: ComputeNode, splits: tuple[Split, ...], tensors: Tensors | None) -> Path:
        """Return the path to a Compute below all these steps, without places.

        `splits`: with the number of all steps above each as its position. `tensors`: those of
        which holders are steps; None: of all.
        """
        if tensors is None:
            places = list(range(len(self.steps)))
        else:
            held = (place for tensor in tensors for place in self._holds_of(tensor))
            places = sorted(chain(self._loops, held))
        steps = tuple(_named(self.steps[place], node.einsum) for place in places)
        placed = tuple(replace(s, position=bisect_left(places, s.position)) for s in splits)
        origins = tuple(self.origins[place] for place in places)
        return Path(node.einsum, node.component, steps, origins, placed)

    def _holds_of(self, tensor: str) -> Iterator[int]:
        prefix: _Prefix | None = self
        while prefix is not None:
            yield from prefix._holds.get(tensor, ())
            prefix = prefix._outer


def _named(step: Step, einsum: str) -> Step:
    """Return a step with the name that an Einsum has for the variable of a loop."""
    if isinstance(step, Hold) or not step.names:
        return step
    variable = dict(step.names).get(einsum, step.rank_variable)
    return replace(step, rank_variable=variable, names=())


class _Walker:
    """Walks the tree of nodes depth first and numbers every node once.

    A node that several paths share so has one number. `places`: of the nodes in a file.
    `tensors_of`: as of `paths_of`.
    """

    def __init__(self, places: tuple[Where, ...], tensors_of: TensorsOf | None) -> None:
        self._numbers = 0
        self._places = places
        self._tensors_of = tensors_of

    def walk(
        self, nodes: tuple[Node, ...], above: _Prefix | None, splits: tuple[Split, ...]
    ) -> Iterator[Path]:
        taken = _Prefix(above)
        for place, node in enumerate(nodes):
            number = self._numbers
            self._numbers += 1
            if isinstance(node, ComputeNode):
                _nothing_after(nodes, place, "Compute")
                tensors = None if self._tensors_of is None else self._tensors_of(node.einsum)
                path = taken.path(node, splits, tensors)
                yield replace(path, places=self._places, end=number)
                return
            if isinstance(node, Sequential):
                _nothing_after(nodes, place, "Sequential")
                for branch, inner in enumerate(node.branches):
                    split = Split(number, branch, len(taken.steps))
                    yield from self.walk(inner, taken, (*splits, split))
                return
            taken.append(number, node)
        raise MappingError(
            "a list of nodes has to end in a Compute or a Sequential",
            value=str(nodes[-1]) if nodes else "no nodes",
            instead="add `!Compute {einsum: …, component: …}` at the end",
        )


def paths_of(mapping: Mapping, tensors_of: TensorsOf | None = None) -> tuple[Path, ...]:
    """Return one Path per Compute of a mapping, in the order of execution.

    A path has the holders and loops from the outermost node down to that Compute. `tensors_of`:
    gives, by the name of an Einsum, the tensors whose holders are steps of its path; None: of all
    tensors. Raises MappingError if a list of nodes does not end in a Compute or a Sequential, or
    goes on after one.
    """
    return tuple(_Walker(mapping.places, tensors_of).walk(mapping.nodes, None, ()))


def _nothing_after(nodes: tuple[Node, ...], place: int, kind_name: str) -> None:
    if place != len(nodes) - 1:
        raise MappingError(
            f"nothing may follow a {kind_name} in its list of nodes",
            value=str(nodes[place + 1]),
            instead=f"move it above the {kind_name}",
        )


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
