"""A slow counter of what one Einsum's mapping moves, by a walk of every iteration.

It knows nothing of products of loop bounds: it visits every point of the iteration space in the
order of the mapping, all lanes of the spatial loops in lockstep, keeps the set of outputs that have
a partial sum in each buffer, and counts what moves. Of a tile that leaves its tensor, only the
positions inside move; below a fanout a second count has the zeros, too, by which time is told.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from tilewright.mapper.mapping.mapping import ComputeNode, Spatial, Storage

Lane = tuple[tuple[int, ...], dict[str, tuple[int, int]]]  # coordinates, (start, size) by variable
Box = tuple[tuple[int, int], ...]


@dataclass
class Level:
    name: str
    tag: str = "Memory"
    direction: str = "up_and_down"
    skip: bool = True
    fanout: tuple[tuple[str, int, str], ...] = ()  # name, fanout, may_reuse


@dataclass
class Case:
    einsum: str
    sizes: dict[str, int]
    levels: list[Level]
    nodes: list[Any]


@dataclass
class Counter:
    """Walks the mapping; `reads[component, tensor][unit]` and `writes` count values.

    `zeros["read"]` and `zeros["write"]` have the zeros beside the tensors in the same form.
    """

    case: Case
    einsum: Any
    reads: Any = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    writes: Any = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    zeros: Any = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    )
    steps: int = 0
    operations: int = 0

    def __post_init__(self) -> None:
        self.levels = {level.name: level for level in self.case.levels}
        self.may_reuse = {
            (level.name, dim): reuse for level in self.case.levels for dim, _, reuse in level.fanout
        }
        self.loops: list[Spatial] = []  # spatial loops passed so far, outermost first
        self.chain: dict[str, list[tuple[str, int]]] = defaultdict(list)  # holders, loops above
        self.valid: dict[Any, set[tuple[int, ...]]] = defaultdict(set)

    def run(self) -> None:
        space = {name: (0, size) for name, size in self.einsum.bounds.items()}
        self.walk(0, [((), space)])

    def walk(self, position: int, lanes: list[Lane]) -> None:
        node = self.case.nodes[position]
        if isinstance(node, ComputeNode):
            self.steps += 1
            self.operations += len(lanes)
            for access in self.einsum.accesses:
                self.visit(access, lanes, "MAC", lambda: None)
        elif isinstance(node, Storage):
            self.hold(node, lanes, lambda: self.walk(position + 1, lanes))
        elif isinstance(node, Spatial):
            split = []
            for coordinates, space in lanes:
                for number, part in enumerate(self.parts(node, space)):
                    split.append(((*coordinates, number), part))
            self.loops.append(node)
            self.walk(position + 1, split)
            self.loops.pop()
        else:
            every = [(coordinates, self.parts(node, space)) for coordinates, space in lanes]
            for number in range(max(len(parts) for _, parts in every)):
                self.walk(position + 1, [(c, p[number]) for c, p in every if number < len(p)])

    def parts(
        self, node: Any, space: dict[str, tuple[int, int]]
    ) -> list[dict[str, tuple[int, int]]]:
        start, size = space[node.rank_variable]
        end = start + size
        first = getattr(node, "initial_tile_shape", None)
        found = []
        while start < end:
            step = min(first or node.tile_shape, end - start)
            first = None
            found.append({**space, node.rank_variable: (start, step)})
            start += step
        return found

    def hold(self, node: Storage, lanes: list[Lane], inside: Any) -> None:
        (tensor,) = node.tensors
        access = self.einsum.access(tensor)
        if self.chain[tensor] and self.levels[node.component].tag == "Memory":
            self.visit(access, lanes, node.component, inside)
            return
        self.chain[tensor].append((node.component, len(self.loops)))
        inside()
        self.chain[tensor].pop()

    def visit(self, access: Any, lanes: list[Lane], component: str, inside: Any) -> None:
        """A tile of the tensor comes to `component` in every lane, is used, and goes back."""
        level = self.levels[component]
        leaf = component == "MAC"
        tiles = {coordinates: box(access, space) for coordinates, space in lanes}
        fresh = {c: self.fresh(access, c, tile) for c, tile in tiles.items()}
        self.ask(access, {c: (tile, fresh[c] if level.skip else 0) for c, tile in tiles.items()})
        if not leaf:
            for c, tile in tiles.items():
                came = size(tile, access) - (fresh[c] if level.skip else 0)
                self.writes[component, access.tensor][c] += came
                self.zeros["write"][component, access.tensor][c] += outside(tile, access)
                if access.output:
                    up = self.memory_above(access.tensor)
                    known = self.valid[up[0], access.tensor, c[: up[1]]]
                    self.valid[component, access.tensor, c] = known & elements(tile)
            self.chain[access.tensor].append((component, len(self.loops)))
        inside()
        if not leaf:
            self.chain[access.tensor].pop()
        if access.output:
            for c, tile in tiles.items():
                if not leaf:
                    self.reads[component, access.tensor][c] += size(tile)
            self.give(access, {c: (tile, 0) for c, tile in tiles.items()})

    def memory_above(self, tensor: str) -> tuple[str, int]:
        return next(h for h in reversed(self.chain[tensor]) if self.levels[h[0]].tag == "Memory")

    def fresh(self, access: Any, coordinates: tuple[int, ...], tile: Box) -> int:
        """Outputs of the tile that nobody has ever written into the memory above."""
        if not access.output:
            return 0
        name, above = self.memory_above(access.tensor)
        return len(elements(tile) - self.valid[name, access.tensor, coordinates[:above]])

    def ask(self, access: Any, requests: dict[tuple[Any, ...], tuple[Box, int]]) -> None:
        for name, above, merged in self.climb(access.tensor, requests):
            level = self.levels[name]
            if level.tag == "Toll" and level.direction == "up":
                continue
            for coordinates, (tile, fresh) in merged.items():
                moved = size(tile, access) - (fresh if level.skip else 0)
                self.reads[name, access.tensor][coordinates[:above]] += moved
                zeros = self.zeros["read"][name, access.tensor]
                zeros[coordinates[:above]] += outside(tile, access)

    def give(self, access: Any, results: dict[tuple[Any, ...], tuple[Box, int]]) -> None:
        for name, above, merged in self.climb(access.tensor, results):
            level = self.levels[name]
            for coordinates, (tile, _) in merged.items():
                unit = coordinates[:above]
                if level.tag == "Memory":
                    self.writes[name, access.tensor][unit] += size(tile)
                    self.valid[name, access.tensor, unit] |= elements(tile)
                elif level.direction != "down":
                    self.reads[name, access.tensor][unit] += size(tile)

    def climb(self, tensor: str, requests: dict[tuple[Any, ...], tuple[Box, int]]) -> Any:
        """Through Tolls up to the next memory; equal requests of lanes that share become one."""
        below = len(self.loops)
        for name, above in reversed(self.chain[tensor]):
            for loop in range(below - 1, above - 1, -1):
                node = self.loops[loop]
                if tensor in self.may_reuse[node.component, node.name]:
                    requests = merge(requests, loop)
            yield name, above, requests
            if self.levels[name].tag == "Memory":
                return
            below = above

    def busiest(self, action: str, component: str, tensor: str) -> int:
        """Return the values that one instance moves in the time of an action (zeros included below
        a fanout)."""
        mine = (self.reads if action == "read" else self.writes)[component, tensor]
        zeros = self.zeros[action][component, tensor]
        above = [level.name for level in self.case.levels].index(component) + 1
        if not any(level.fanout for level in self.case.levels[:above]):
            zeros = {}
        return max((values + zeros.get(unit, 0) for unit, values in mine.items()), default=0)


def merge(requests: dict[tuple[Any, ...], Any], loop: int) -> dict[tuple[Any, ...], Any]:
    groups = defaultdict(list)
    for coordinates, request in requests.items():
        groups[(*coordinates[:loop], None, *coordinates[loop + 1 :])].append((coordinates, request))
    found = {}
    for shared, members in groups.items():
        if all(request == members[0][1] for _, request in members):
            found[shared] = members[0][1]
        else:
            found.update(members)
    return found


def box(access: Any, space: dict[str, tuple[int, int]]) -> Box:
    found = []
    for _, form in access.projection:
        ends = [(f * space[v][0], f * (space[v][0] + space[v][1] - 1)) for v, f in form.terms]
        found.append((form.constant + sum(map(min, ends)), form.constant + sum(map(max, ends))))
    return tuple(found)


def size(tile: Box, access: Any = None) -> int:
    """Return the positions of a box, if an access is given those inside its padded ranks."""
    padded = dict(access.padded) if access is not None else {}
    ranks = [rank for rank, _ in access.projection] if access is not None else [None] * len(tile)
    product = 1
    for rank, (low, high) in zip(ranks, tile, strict=True):
        inside = [x for x in range(low, high + 1) if rank not in padded or 0 <= x < padded[rank]]
        product *= len(inside)
    return product


def outside(tile: Box, access: Any) -> int:
    return size(tile) - size(tile, access)


def elements(tile: Box) -> set[tuple[int, ...]]:
    return set(itertools.product(*(range(low, high + 1) for low, high in tile)))


def arch_text(levels: list[Level]) -> str:
    lines = ["arch:", "  nodes:"]
    for level in levels:
        lines += [f"  - !{level.tag}", f"    name: {level.name}"]
        if level.fanout:
            lines.append("    spatial:")
            for name, fanout, reuse in level.fanout:
                may = " | ".join(reuse) if reuse else "Nothing"
                lines.append(f"    - {{name: {name}, fanout: {fanout}, may_reuse: {may}}}")
        if level.tag == "Container":
            continue
        lines += ["    area: 0", "    leak_power: 0"]
        if level.tag == "Memory":
            lines += ["    size: inf", f"    skip_initial_output_write: {level.skip}"]
        if level.tag == "Compute":
            lines += [f"    skip_initial_output_write: {level.skip}"]
        if level.tag == "Toll":
            lines.append(f"    direction: {level.direction}")
        names = {"Memory": ("read", "write"), "Toll": ("read",), "Compute": ("compute",)}[level.tag]
        lines.append("    actions:")
        lines += [f"    - {{name: {name}, energy: 1, throughput: 1}}" for name in names]
    return "\n".join(lines) + "\n"
