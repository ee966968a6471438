"""A mapping as the lines of a loop nest, with trip counts, tiles and what each memory holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, starmap
from typing import TYPE_CHECKING, Literal

from tilewright.arch.quantities import with_unit
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)

if TYPE_CHECKING:
    from tilewright.mapper.mapping.mapping import Mapping as Nest
    from tilewright.mapper.mapping.score import Score
    from tilewright.mapper.workload.workload import Workload

Kind = Literal["storage", "temporal", "spatial", "compute", "step"]
Bits = Mapping[str, int | Fraction]  # by "einsum/memory/tensor", as in Score.memory_bits
Extents = Mapping[str, Mapping[str, int]]  # of rank variables, by Einsum


@dataclass(frozen=True, slots=True)
class NestLine:
    """One line of a loop nest.

    `depth`: its indentation; `kind`: what it shows; `name`: a component, a rank variable, an Einsum
    or the words of a step. `tensors`: those that a holder keeps, each with the bits of its tile
    (None if unknown). Of a loop: `trips`, None if unknown; `tile`, `first`: values of the variable
    in a tile, and in the first one if that differs; `last`: in the last one; `over`: the lanes of
    a spatial loop. `note`: further words.
    """

    depth: int
    kind: Kind
    name: str
    tensors: tuple[tuple[str, int | Fraction | None], ...] = ()
    trips: int | None = None
    tile: int | None = None
    first: int | None = None
    last: int | None = None
    over: str = ""
    note: str = ""

    @property
    def left(self) -> str:
        """The node in words."""
        match self.kind:
            case "storage":
                return f"[{self.name}] {', '.join(starmap(_held, self.tensors))}{self.note}"
            case "temporal":
                return f"for {self.name}{self.note}"
            case "spatial":
                return f"parfor {self.name}{self.note}"
            case "compute":
                return f"compute {self.name} on {self.over}"
        return f"{self.note} {self.name}"

    @property
    def right(self) -> str:
        """The tiles of a loop in words; empty for another node."""
        if self.tile is None:
            return ""
        tiles = f"tile {self.tile}"
        if self.trips is not None:
            tiles = f"{self.trips} tile{'' if self.trips == 1 else 's'} of {self.tile}"
        first = f", first {self.first}" if self.first is not None else ""
        last = f", last {self.last}" if self.last is not None else ""
        return f"{tiles}{first}{last}{f' over {self.over}' if self.over else ''}"

    def document(self) -> dict[str, object]:
        """Return the line as JSON data; bits of tiles by tensor."""
        fields: dict[str, object] = {"depth": self.depth, "kind": self.kind, "name": self.name}
        if self.kind == "storage":
            fields["bits"] = dict(self.tensors)
        for name in ("trips", "tile", "first", "last"):
            value = getattr(self, name)
            if value is not None:
                fields[name] = value
        return fields | ({"over": self.over} if self.over else {})


def nest_lines(
    nodes: Sequence[Node], bounds: Extents | None = None, bits: Bits | None = None
) -> tuple[NestLine, ...]:
    """Return the lines of a mapping; holders of one memory that stand together are one line.

    `nodes`: of the mapping, outermost first. `bounds`: of the rank variables by Einsum, for the
    numbers of trips; `bits`: of the tiles, by "einsum/memory/tensor". Steps are numbered by the
    Einsums in them, from 1 on.
    """
    walk = _NestWalk(bits or {}, {name: n for n, name in enumerate(einsums_below(nodes), start=1)})
    return tuple(walk.lines(tuple(nodes), 0, bounds or {}))


def lines_of(mapping: Nest, workload: Workload, score: Score) -> tuple[NestLine, ...]:
    """Return the lines of a scored mapping of a workload, with all numbers."""
    bounds = {einsum.name: einsum.bounds for einsum in workload.einsums}
    return nest_lines(mapping.nodes, bounds, score.memory_bits)


def nest_text(lines: Sequence[NestLine]) -> str:
    """Return the lines of a nest as text, tiles in a column of their own."""
    lefts = ["  " * line.depth + line.left for line in lines]
    pairs = zip(lefts, lines, strict=True)
    width = max((len(left) for left, line in pairs if line.right), default=0)
    return "\n".join(
        f"{left:<{width}}  {line.right}" if line.right else left
        for left, line in zip(lefts, lines, strict=True)
    )


def einsums_below(nodes: Sequence[Node]) -> Iterator[str]:
    """Yield the Einsums of the Computes among nodes and their branches, in order."""
    for node in nodes:
        if isinstance(node, ComputeNode):
            yield node.einsum
        elif isinstance(node, Sequential):
            for branch in node.branches:
                yield from einsums_below(branch)


@dataclass(frozen=True, slots=True)
class _NestWalk:
    """Walks a mapping from the outermost node in, and makes a line of text per node.

    `bits`: of tiles, by "einsum/memory/tensor"; `steps`: number of each Einsum.
    """

    bits: Bits
    steps: Mapping[str, int]

    def lines(self, nodes: Sequence[Node], depth: int, extents: Extents) -> Iterator[NestLine]:
        """Yield the lines of nodes; `depth`: nodes above.

        `extents`: of the tiles that they work on.
        """
        below = tuple(einsums_below(nodes))
        for key, group in groupby(nodes, _holder):
            if key is not None:
                yield self._storage(list(group), depth, below)  # type: ignore[arg-type]
                continue
            for node in group:
                if isinstance(node, Sequential):
                    yield from self._steps(node, depth, extents)
                elif isinstance(node, ComputeNode):
                    yield NestLine(depth, "compute", node.einsum, over=node.component)
                elif isinstance(node, Temporal | Spatial):
                    yield _loop(node, depth, below, extents)
                    extents = _inside(node, below, extents)
                    depth += 1

    def _steps(self, node: Sequential, depth: int, extents: Extents) -> Iterator[NestLine]:
        word = "stage" if node.kind == "Pipeline" else "step"
        for branch in node.branches:
            names = list(einsums_below(branch))
            first, last = self.steps[names[0]], self.steps[names[-1]]
            number = f"{word} {first}" if first == last else f"{word}s {first} to {last}"
            few = names if len(names) <= 4 else [names[0], "…", names[-1]]
            yield NestLine(depth, "step", ", ".join(few), note=f"{number}:")
            yield from self.lines(branch, depth + 1, extents)

    def _storage(self, nodes: list[Storage], depth: int, below: Sequence[str]) -> NestLine:
        component = nodes[0].component
        tensors = tuple(
            (tensor, self._bits(tensor, component, below))
            for node in nodes
            for tensor in node.tensors
        )
        return NestLine(depth, "storage", component, tensors, note=_remarks(nodes[0]))

    def _bits(self, tensor: str, component: str, below: Sequence[str]) -> int | Fraction | None:
        keys = (f"{einsum}/{component}/{tensor}" for einsum in below)
        return max((self.bits[key] for key in keys if key in self.bits), default=None)


def _holder(node: Node) -> tuple[object, ...] | None:
    """Return a key, equal for Storage or Toll nodes shown on one line; None for other nodes."""
    if not isinstance(node, Storage):
        return None
    return node.component, _remarks(node), isinstance(node, TollNode)


def _remarks(node: Storage) -> str:
    """Return in brackets what is special about a holder, such as "(persistent)"; else ""."""
    remarks = [
        *(["persistent"] if node.persistent else []),
        *([f"{node.buffers} buffers"] if node.buffers > 1 else []),
        *([f"added by {node.reduction}"] if node.reduction else []),
        *([f"shift along {node.shift}"] if node.shift else []),
    ]
    return f" ({', '.join(remarks)})" if remarks else ""


def _loop(node: Temporal | Spatial, depth: int, below: Sequence[str], extents: Extents) -> NestLine:
    whole = _extent_above(node, below, extents)
    first = node.initial_tile_shape if isinstance(node, Temporal) else None
    rest = whole - (first or 0)
    trips = None
    if whole:
        trips = -(-rest // node.tile_shape) + (first is not None)
    left = rest % node.tile_shape if whole else 0
    spatial = isinstance(node, Spatial)
    return NestLine(
        depth,
        "spatial" if spatial else "temporal",
        node.rank_variable,
        trips=trips,
        tile=node.tile_shape,
        first=first,
        last=left or None,
        over=f"{node.component}.{node.name}" if isinstance(node, Spatial) else "",
        note="".join(f" = {name} of {einsum}" for einsum, name in node.names),
    )


def _extent_above(node: Temporal | Spatial, below: Sequence[str], extents: Extents) -> int:
    """Return the greatest extent of a loop's variable above it, over the Einsums below.

    0: unknown.
    """
    return max((extents[e].get(_variable(node, e), 0) for e in below if e in extents), default=0)


def _variable(node: Temporal | Spatial, einsum: str) -> str:
    return dict(node.names).get(einsum, node.rank_variable)


def _inside(node: Temporal | Spatial, below: Sequence[str], extents: Extents) -> Extents:
    """Return the extents of the tile below a loop, per Einsum and variable."""
    first = node.initial_tile_shape if isinstance(node, Temporal) else None
    tile = max(node.tile_shape, first or 0)
    changed = dict(extents)
    for einsum in below:
        variable = _variable(node, einsum)
        if variable in changed.get(einsum, {}):
            changed[einsum] = {**changed[einsum], variable: min(tile, changed[einsum][variable])}
    return changed


def _held(tensor: str, bits: int | Fraction | None) -> str:
    return tensor if bits is None else f"{tensor} {with_unit(float(bits), 'bit')}"
