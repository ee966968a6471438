"""Execute a mapping on numbers, point by point: does it compute its workload?

Slow and obvious. A tensor that an Einsum writes lives in its outermost holder, in a tile for each
combination of turns of the loops above that holder. The tile of a new turn starts empty, and what
was in the old one is gone. Lanes of a spatial loop run their whole body one after the other, in
ascending or in descending order: a result that depends on it is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

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
from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.workload import Workload

Box = dict[str, tuple[int, int]]  # rank variable -> positions from, up to
PRIME = 1_000_003


class WrongResultError(Exception):
    """The mapping does not compute the workload."""


def computes(workload: Workload, mapping: Mapping, seed: int = 0) -> bool:
    """Tell whether the mapping computes the workload, with lanes in either order."""
    values = inputs(workload, seed)
    expected = reference(workload, values)
    for descending in (False, True):
        run = _Run(workload, values, descending)
        try:
            run.start(mapping)
        except WrongResultError:
            return False
        if not run.equals(expected):
            return False
    return True


def inputs(workload: Workload, seed: int) -> dict[str, dict[tuple[int, ...], int]]:
    """Return random values of each tensor that no Einsum writes, by index."""
    rng = np.random.default_rng(seed)
    written = {access.tensor for einsum in workload.einsums for access in einsum.outputs}
    values: dict[str, dict[tuple[int, ...], int]] = {}
    for einsum in workload.einsums:
        for access in einsum.inputs:
            if access.tensor not in written:
                tensor = values.setdefault(access.tensor, {})
                for point in points({v: (0, b) for v, b in einsum.bounds.items()}):
                    index = index_of(access, point)
                    if index not in tensor:
                        tensor[index] = int(rng.integers(1, PRIME))
    return values


def index_of(access: TensorAccess, point: dict[str, int]) -> tuple[int, ...]:
    """Return the index of a tensor at a point, with its ranks in alphabetical order."""
    return tuple(form.value(point) for _, form in sorted(access.projection, key=lambda r: r[0]))


def points(box: Box) -> Iterator[dict[str, int]]:
    """Yield the points of a box."""
    for values in product(*(range(begin, end) for begin, end in box.values())):
        yield dict(zip(box, values, strict=True))


def reference(
    workload: Workload, values: dict[str, dict[tuple[int, ...], int]]
) -> dict[str, dict[tuple[int, ...], int]]:
    """Return every tensor, computed Einsum by Einsum with numpy.einsum on gathered operands."""
    tensors = dict(values)
    for einsum in workload.einsums:
        space = list(points({v: (0, b) for v, b in einsum.bounds.items()}))
        operands = [
            np.array(
                [tensors[a.tensor].get(index_of(a, p), 0) for p in space],
                dtype=object,
            )
            for a in einsum.inputs
        ]
        (access,) = einsum.outputs
        letters = ",".join("p" for _ in operands)
        if einsum.combine == "*" or len(operands) == 1:
            results = np.einsum(f"{letters}->p", *operands)
        else:
            results = sum(operands)
        tensor: dict[tuple[int, ...], int] = {}
        for point, value in zip(space, results, strict=True):
            index = index_of(access, point)
            tensor[index] = (tensor.get(index, 0) + int(value)) % PRIME
        tensors[access.tensor] = tensor
    return tensors


@dataclass
class _Run:
    workload: Workload
    tensors: dict[str, dict[tuple[int, ...], int]]
    descending: bool
    # tensor -> (number of the Storage node, turns above it) -> values
    tiles: dict[str, dict[tuple[int, ...], dict[tuple[int, ...], int]]] = field(
        default_factory=dict
    )
    computed: set[tuple[str, tuple[int, ...]]] = field(default_factory=set)

    def start(self, mapping: Mapping) -> None:
        boxes = {e.name: {v: (0, b) for v, b in e.bounds.items()} for e in self.workload.einsums}
        self._numbers = {id(node): n for n, node in enumerate(_all_nodes(mapping.nodes))}
        self._list(mapping.nodes, boxes, (), {})

    def equals(self, expected: dict[str, dict[tuple[int, ...], int]]) -> bool:
        """Tell whether each point was computed, and whether the last tensors are right."""
        count = sum(einsum.operations for einsum in self.workload.einsums)
        read = {a.tensor for einsum in self.workload.einsums for a in einsum.inputs}
        for einsum in self.workload.einsums:
            (access,) = einsum.outputs
            if access.tensor not in read:
                whole: dict[tuple[int, ...], int] = {}
                for tile in self.tiles.get(access.tensor, {}).values():
                    if whole.keys() & tile.keys():
                        return False  # partial sums that do not meet
                    whole |= tile
                if whole != expected[access.tensor]:
                    return False
        return len(self.computed) == count

    def _list(
        self,
        nodes: tuple[Node, ...],
        boxes: dict[str, Box],
        turns: tuple[tuple[str, int], ...],
        held: dict[str, tuple[int, ...]],
    ) -> None:
        """Run a list of nodes. `turns`: kind and number of the turn of each loop above."""
        if not boxes:
            return  # none of the Einsums below has a tile in this turn
        node, rest = nodes[0], nodes[1:]
        match node:
            case ComputeNode(name, _):
                self._compute(self.workload.einsum(name), boxes.get(name), held)
            case Sequential(branches, _):
                for branch in branches:
                    names = {n.einsum for n in _all_nodes(branch) if isinstance(n, ComputeNode)}
                    self._list(branch, {k: boxes[k] for k in boxes if k in names}, turns, held)
            case Temporal() | Spatial():
                self._loop(node, rest, boxes, turns, held)
            case TollNode():
                self._list(rest, boxes, turns, held)
            case Storage(tensors, _, _):
                held = dict(held)
                for tensor in tensors:
                    if tensor not in held:
                        key = (self._numbers[id(node)], *(number for _, number in turns))
                        held[tensor] = key
                        self._enter(tensor, key, turns)
                self._list(rest, boxes, turns, held)

    def _enter(self, tensor: str, key: tuple[int, ...], turns: tuple[tuple[str, int], ...]) -> None:
        """Drop the tiles of a tensor from earlier turns of temporal loops."""
        kinds = [kind for kind, _ in turns]
        tiles = self.tiles.setdefault(tensor, {})
        for old in list(tiles):
            if old[0] == key[0] and any(
                kind == "for" and a != b for kind, a, b in zip(kinds, old[1:], key[1:], strict=True)
            ):
                del tiles[old]

    def _loop(
        self,
        node: Temporal | Spatial,
        rest: tuple[Node, ...],
        boxes: dict[str, Box],
        turns: tuple[tuple[str, int], ...],
        held: dict[str, tuple[int, ...]],
    ) -> None:
        names = {name: dict(node.names).get(name, node.rank_variable) for name in boxes}
        cuts = {name: list(_cuts(node, boxes[name].get(names[name]))) for name in boxes}
        count = max(len(cut) for cut in cuts.values())
        numbers = range(count)
        is_spatial = isinstance(node, Spatial)
        for number in reversed(numbers) if is_spatial and self.descending else numbers:
            inner: dict[str, Box] = {}
            for name, box in boxes.items():
                if names[name] not in box:
                    inner[name] = box
                elif number < len(cuts[name]):
                    inner[name] = {**box, names[name]: cuts[name][number]}
            self._list(rest, inner, (*turns, ("par" if is_spatial else "for", number)), held)

    def _compute(self, einsum: Einsum, box: Box | None, held: dict[str, tuple[int, ...]]) -> None:
        if box is None:
            return
        for point in points(box):
            where = (einsum.name, tuple(point.values()))
            if where in self.computed:
                raise WrongResultError(f"{where} is computed twice")
            self.computed.add(where)
            operands = [self._read(access, point, held) for access in einsum.inputs]
            result: Any = sum(operands)
            if einsum.combine == "*":
                result = 1
                for operand in operands:
                    result = result * operand % PRIME
            (access,) = einsum.outputs
            if access.tensor not in held:
                raise WrongResultError(f"nothing holds {access.tensor}")
            tile = self.tiles[access.tensor].setdefault(held[access.tensor], {})
            index = index_of(access, point)
            tile[index] = (tile.get(index, 0) + result) % PRIME

    def _read(self, access: Any, point: dict[str, int], held: dict[str, tuple[int, ...]]) -> int:
        index = index_of(access, point)
        if access.tensor in self.tensors:
            return self.tensors[access.tensor][index]
        if access.tensor not in held:
            raise WrongResultError(f"nothing holds {access.tensor}")
        tile = self.tiles[access.tensor].get(held[access.tensor], {})
        if index not in tile and self._written(access.tensor, index):
            raise WrongResultError(f"{access.tensor}{index} is not there")
        return tile.get(index, 0)

    def _written(self, tensor: str, index: tuple[int, ...]) -> bool:
        """Tell whether an Einsum ever writes this value (else it is padding: 0)."""
        for einsum in self.workload.einsums:
            for access in einsum.outputs:
                if access.tensor == tensor:
                    box = {v: (0, b) for v, b in einsum.bounds.items()}
                    return any(index_of(access, p) == index for p in points(box))
        return False


def _cuts(node: Temporal | Spatial, interval: tuple[int, int] | None) -> Iterator[tuple[int, int]]:
    """Yield the tiles of an interval under a loop; one turn if there is none."""
    if interval is None:
        yield (0, 1)
        return
    begin, end = interval
    first = node.initial_tile_shape if isinstance(node, Temporal) else None
    step = first or node.tile_shape
    while begin < end:
        yield begin, min(begin + step, end)
        begin, step = begin + step, node.tile_shape


def _all_nodes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, Sequential):
            for branch in node.branches:
                yield from _all_nodes(branch)
