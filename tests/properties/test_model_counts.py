"""The analytical model against a slow counter that walks every iteration.

The counter knows nothing of products of loop bounds: it visits every point of the iteration space
in the order of the mapping, all lanes of the spatial loops in lockstep, keeps the set of outputs
that have a partial sum in each buffer, and counts what moves. Covered: one Einsum (matmul, batched
matmul, element-wise, 1D convolution with stride and dilation, 2D convolution), two to four levels
with random bypass, Tolls in each direction, fanouts on containers, memories and computes with
random may_reuse, partial sums with and without first-write elision, loop orders, several loops per
variable, uneven tiles and first tiles of another size; loops of a fanout written above holders that
lie above it. Fused mappings, tiles and what lives at a time are in test_fused_walk.py, hops
and distributed memories in test_network_walk.py, copies in test_copy_walk.py.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewright.arch.load import load_arch
from tilewright.mapper.evaluation import evaluate
from tilewright.mapper.mapping import Compute, Mapping, Spatial, Storage, Temporal, Toll
from tilewright.mapper.workload import load_workload

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
    """Walks the mapping; `reads[component, tensor][unit]` and `writes` count values."""

    case: Case
    einsum: Any
    reads: Any = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    writes: Any = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
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
        if isinstance(node, Compute):
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
                came = size(tile) - (fresh[c] if level.skip else 0)
                self.writes[component, access.tensor][c] += came
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
                moved = size(tile) - (fresh if level.skip else 0)
                self.reads[name, access.tensor][coordinates[:above]] += moved

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
        low = form.constant + sum(f * space[v][0] for v, f in form.terms)
        high = form.constant + sum(f * (space[v][0] + space[v][1] - 1) for v, f in form.terms)
        found.append((low, high))
    return tuple(found)


def size(tile: Box) -> int:
    product = 1
    for low, high in tile:
        product *= high - low + 1
    return product


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


EINSUMS = {
    "Z[m, n] = A[m, k] * B[k, n]": ("M", "N", "K"),
    "Z[b, m, n] = A[b, m, k] * B[k, n]": ("B", "M", "N", "K"),
    "Z[m, n] = A[m, n] * B[m]": ("M", "N"),
    "Z[m, p] = A[c, H: p + r] * B[c, m, r]": ("M", "P", "C", "R"),
    "Z[m, p] = A[c, H: 2*p + r] * B[c, m, r]": ("M", "P", "C", "R"),
    "Z[p] = A[H: p + 2*r] * B[r]": ("P", "R"),
    "Z[p, q] = A[H: p + r, W: q + s] * B[r, s]": ("P", "Q", "R", "S"),
}


@st.composite
def level_lists(draw: Any) -> list[Level]:
    def dims(names: tuple[str, ...]) -> tuple[tuple[str, int, str], ...]:
        return tuple(
            (name, 6, draw(st.sampled_from(["ABZ", "", "A", "BZ", "Z"]))) for name in names
        )

    flags = st.booleans()
    levels = [Level("DRAM", skip=draw(flags))]
    if draw(flags):
        levels.append(Level("LINK", "Toll", draw(st.sampled_from(["up", "down", "up_and_down"]))))
    fanout = dims(("core",)) if draw(flags) else ()
    levels.append(Level("BUF", skip=draw(flags), fanout=fanout))
    if draw(flags):
        levels.append(Level("PE", "Container", fanout=dims(("x", "y"))))
    if draw(flags):
        levels.append(Level("REG", skip=draw(flags)))
    if draw(st.sampled_from([False, False, True])):
        levels.append(Level("ADC", "Toll", draw(st.sampled_from(["up", "down", "up_and_down"]))))
    fanout = dims(("lane",)) if draw(st.sampled_from([False, True])) else ()
    levels.append(Level("MAC", "Compute", skip=draw(flags), fanout=fanout))
    return levels


@st.composite
def cases(draw: Any, *, uneven: bool) -> Case:
    text = draw(st.sampled_from(sorted(EINSUMS)))
    sizes = {rank: draw(st.integers(1, 5 if uneven else 6)) for rank in EINSUMS[text]}
    levels = draw(level_lists())
    left = {rank.lower(): bound for rank, bound in sizes.items()}
    nodes: list[Any] = []
    holders = [level for level in levels if level.tag in ("Memory", "Toll")]
    for level in levels:
        for name, fanout, _ in level.fanout:
            nodes += draw(loops(left, uneven=uneven, fanout=(level.name, name, fanout)))
        if level in holders:
            for tensor in draw(st.permutations("ABZ")):
                if level is levels[0] or draw(st.sampled_from([True, True, False])):
                    kind = Toll if level.tag == "Toll" else Storage
                    nodes.append(kind((tensor,), level.name))
                    if level is not levels[0] and draw(st.sampled_from([True, False, False])):
                        nodes += draw(loops(left, uneven=uneven))
            nodes += draw(loops(left, uneven=uneven))
    rest = [name for name in left if left[name] > 1]
    last = [Temporal(name, 1) for name in draw(st.permutations(rest))]
    where = next(
        (
            n
            for n, node in enumerate(nodes)
            if isinstance(node, Spatial) and node.component == "MAC"
        ),
        len(nodes),
    )
    nodes = nodes[:where] + nodes[where:] + last
    return Case(text, sizes, levels, [*nodes, Compute("Z", "MAC")])


@st.composite
def loops(draw: Any, left: dict[str, int], *, uneven: bool, fanout: Any = None) -> list[Any]:
    found: list[Any] = []
    room = fanout[2] if fanout else 0
    for _ in range(draw(st.integers(0, 2))):
        open_ = [name for name in sorted(left) if left[name] > 1]
        if not open_:
            break
        name = draw(st.sampled_from(open_))
        outer = left[name]
        sizes = [t for t in range(1, outer + 1) if uneven or outer % t == 0]
        if fanout:
            sizes = [t for t in sizes if -(-outer // t) <= room]
        tile = draw(st.sampled_from(sizes))
        if fanout:
            room //= -(-outer // tile)
            found.append(Spatial(name, tile, fanout[1], fanout[0]))
            left[name] = tile
            continue
        first = draw(st.sampled_from([None, None, *range(1, outer + 1)])) if uneven else None
        found.append(Temporal(name, tile, first))
        left[name] = max(tile, first or 0)
    return found


def check(case: Case, mapping: Mapping | None = None) -> None:
    mapping = mapping or Mapping(tuple(case.nodes))
    workload = load_workload(
        "workload:\n"
        f"  rank_sizes: {{{', '.join(f'{rank}: {bound}' for rank, bound in case.sizes.items())}}}\n"
        "  bits_per_value: {All: 1}\n"
        f'  einsums: ["{case.einsum}"]\n'
    )
    score = evaluate(load_arch(arch_text(case.levels)), workload, mapping)
    counter = Counter(case, workload.einsum("Z"))
    counter.run()
    assert score.actions["Z/MAC/None/compute"] == counter.operations
    assert score.latency_by["Z/MAC"] == counter.steps
    held = {
        (node.component, t)
        for node in case.nodes
        if isinstance(node, Storage)
        for t in node.tensors
    }
    units: dict[str, int] = defaultdict(int)
    for component, tensor in sorted(held):
        for action, counts in (("read", counter.reads), ("write", counter.writes)):
            mine = counts[component, tensor]
            key = f"Z/{component}/{tensor}/{action}"
            assert score.actions[key] == sum(mine.values()), key
            units[component] += max(mine.values(), default=0)
    for component, calls in units.items():
        assert score.latency_by[f"Z/{component}"] == calls, component


COMMON = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


@settings(max_examples=250, **COMMON)
@given(cases(uneven=False))
def test_counts_equal_those_of_the_walk(case: Case) -> None:
    check(case)


@settings(max_examples=250, **COMMON)
@given(cases(uneven=True))
def test_counts_of_uneven_tiles_equal_those_of_the_walk(case: Case) -> None:
    check(case)


@settings(max_examples=150, **COMMON)
@given(cases(uneven=False), st.randoms(use_true_random=False))
def test_a_spatial_loop_belongs_to_its_fanout(case: Case, random: Any) -> None:
    """Written above holders that lie above its fanout, a loop counts as if it stood below them."""
    order = [level.name for level in case.levels]
    nodes = list(case.nodes)
    for place in [n for n, node in enumerate(nodes) if isinstance(node, Spatial)]:
        at = place
        while (
            at > 0
            and isinstance(above := nodes[at - 1], Storage)
            and order.index(above.component) < order.index(nodes[at].component)
            and random.random() < 0.8
        ):
            nodes[at - 1], nodes[at] = nodes[at], nodes[at - 1]
            at -= 1
    check(case, Mapping(tuple(nodes)))
