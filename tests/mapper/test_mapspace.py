"""The mapspace: what it enumerates, counts, draws and refuses."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from array_cases import array_space_of
from buffer_spaces import ARCH, random_space, space, workload
from search_cases import space_of
from tight_cases import tight_space_of

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping import Compute, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.mapspace.counting.count_fitting import count_fitting
from tilewright.mapper.mapspace.counting.count_fitting_walked import walk_fitting
from tilewright.mapper.mapspace.lattice import Lattice, factorise
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.evaluation import evaluate
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload


def lanes(mapping: Mapping) -> dict[str, int]:
    shape, found = {"m": 4, "k": 6, "n": 2}, {}
    for node in mapping.nodes:
        if isinstance(node, (Temporal, Spatial)):
            if isinstance(node, Spatial):
                found[node.rank_variable] = shape[node.rank_variable] // node.tile_shape
            shape[node.rank_variable] = node.tile_shape
    return found


def buffer_order(mapping: Mapping) -> str:
    return "".join(
        t
        for n in mapping.nodes
        if isinstance(n, Storage) and n.component == "BUF"
        for t in n.tensors
    )


@pytest.mark.parametrize(
    ("rules", "templates"),
    [
        ("keep: All", 6),  # 3! orders
        ("keep: Nothing, may_keep: All", 16),  # 1 + 3 + 3·2 + 6
        ("keep: weight", 1),
        ("keep: input, may_keep: output", 3),  # A; A Z, Z A
        ("keep: All, tensor_order_options: [[output, weight, input]]", 1),
        ("keep: All, tensor_order_options: [[output, weight | input]]", 2),
        ("keep: All, tensor_order_options: [[output, weight], [input, weight]]", 4),
    ],
)
def test_templates(rules: str, templates: int) -> None:
    assert len(space(rules).templates) == templates


def test_back_excludes_the_memory_above() -> None:
    text = ARCH.format(rules="back: weight, keep: Nothing", dim="fanout: 2", size=4096)
    text = text.replace(
        'keep: "~Intermediates", may_keep: All', "keep: input | output, may_keep: All"
    )
    work = workload()
    (flat,) = flatten(load_arch(text), work.scope(work.einsums[0]))
    for template in Mapspace(work.einsums[0], flat).templates:
        holders = [(h.tensor, h.component) for h in template.holders]
        assert ("B", "BUF") in holders
        assert ("B", "DRAM") not in holders


@pytest.mark.parametrize("rules", ["keep: All", "keep: weight", "keep: Nothing, may_keep: All"])
@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_size_counts_what_iteration_yields(rules: str, conventions: str) -> None:
    room = space(rules, conventions=conventions)
    listed = list(room)
    assert room.size.points == len(listed)  # nothing overflows: BUF is large
    assert len({repr(mapping) for mapping in listed}) == len(listed)


def test_capacity_removes_exactly_what_the_model_refuses() -> None:
    large, small = space(size=4096), space(size=96)
    work = workload()
    arch = load_arch(ARCH.format(rules="keep: All", dim="fanout: 2", size=96))
    kept = [repr(mapping) for mapping in small]
    fits = []
    for mapping in large:
        try:
            evaluate(arch, work, mapping)
        except InfeasibleMapping:
            continue
        fits.append(repr(mapping))
    assert 0 < len(fits) < large.size.points
    assert set(kept) <= set(fits)


@pytest.mark.parametrize(
    ("dim", "allowed"),
    [
        ("fanout: 2", {(), ("m", 2), ("k", 2), ("n", 2)}),
        ("fanout: 3", {(), ("m", 2), ("k", 2), ("n", 2), ("k", 3)}),
        ("fanout: 3, reuse: input", {(), ("n", 2)}),
        ("fanout: 3, min_usage: 1", {("k", 3)}),
        ("fanout: 5, min_usage: 1",
         {("m", 4), ("m", 2, "k", 2), ("m", 2, "n", 2), ("k", 2, "n", 2)}),
        ("fanout: 4, usage_scale: 2", {(), ("m", 2), ("k", 2), ("n", 2)}),
        ("fanout: 3, loop_bounds: [{expression: k, operator: ==, value: 1}]",
         {(), ("m", 2), ("n", 2)}),
        ("fanout: 4, loop_bounds: [{expression: k, operator: '>=', value: 2}]",
         {("k", 2), ("k", 3), ("m", 2, "k", 2), ("k", 2, "n", 2)}),
        ("fanout: 4, loop_bounds: [{expression: m | k, operator: 'product==', value: 4}]",
         {("m", 4), ("m", 2, "k", 2)}),
        ("fanout: 4, loop_bounds: [{expression: m | k | n, operator: 'product<', value: 3}]",
         {(), ("m", 2), ("k", 2), ("n", 2)}),
        ("fanout: 4, loop_bounds: [{expression: m | k | n, operator: 'product>', value: 3}]",
         {("m", 4), ("m", 2, "k", 2), ("m", 2, "n", 2), ("k", 2, "n", 2)}),
    ],
)  # fmt: skip
def test_lanes(dim: str, allowed: set[tuple[object, ...]]) -> None:
    found = set()
    for mapping in space("keep: weight", dim):
        used = lanes(mapping)
        found.add(tuple(x for v in "mkn" if v in used for x in (v, used[v])))
    assert found == allowed


def test_no_refetch_keeps_loops_off() -> None:
    for mapping in space("keep: All, no_refetch_from_above: weight"):
        above = True
        for node in mapping.nodes:
            if isinstance(node, Storage) and node.component == "BUF" and "B" in node.tensors:
                above = False
            if isinstance(node, Temporal) and node.rank_variable == "m":
                assert not above


def test_no_resend_keeps_loops_off() -> None:
    found = list(space("keep: All, no_resend_to_below: weight"))
    assert found
    for mapping in found:
        below = False
        for node in mapping.nodes:
            below |= isinstance(node, Storage) and node.component == "BUF" and "B" in node.tensors
            assert not (below and isinstance(node, Temporal) and node.rank_variable == "m")


@pytest.mark.parametrize(("conventions", "binds"), [("default", True), ("accelforge", False)])
def test_tile_shape(conventions: str, binds: bool) -> None:
    rules = "keep: weight, tile_shape: [{expression: k, operator: ==, value: 3}]"
    tiles = set()
    for mapping in space(rules, conventions=conventions):
        k = 6
        for node in mapping.nodes:
            if isinstance(node, Storage) and node.component == "BUF":
                tiles.add(k)
            if isinstance(node, (Temporal, Spatial)) and node.rank_variable == "k":
                k = node.tile_shape
    assert (tiles == {3}) is binds


def test_what_tile_shape_refuses_is_no_member() -> None:
    pinned = space("keep: weight, tile_shape: [{expression: k, operator: ==, value: 3}]")
    members = {str(mapping) for mapping in pinned}
    others = [mapping for mapping in space("keep: weight") if str(mapping) not in members]
    assert members
    assert others
    assert {"tile_shape of BUF refuses the tile" in (pinned.contains(m) or "") for m in others} == {
        True
    }


@pytest.mark.parametrize("seed", range(12))
def test_what_fits_is_counted_exactly(seed: int) -> None:
    room = random_space(seed)
    if room.size.points < 3000:
        assert room.count_fitting() == sum(1 for _ in room)


def test_counting_gives_up_where_it_would_take_too_long() -> None:
    assert space(size=96).count_fitting(limit=10) is None


def test_every_member_is_found_again() -> None:
    room = space("keep: Nothing, may_keep: All", size=200)
    for mapping in room:
        assert room.contains(mapping) is None


def nodes(*more: object) -> Mapping:
    return Mapping((Storage(("A", "B", "Z"), "DRAM"), *more, Compute("Z", "MAC")))  # type: ignore[arg-type]


LOOPS = (Temporal("m", 1), Temporal("n", 1), Temporal("k", 1))


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        (nodes(*LOOPS), "keep and may_keep do not allow this placement: A in DRAM"),
        (nodes(Temporal("k", 1), Temporal("n", 1), Storage(("B",), "BUF")), "do not reach tile"),
        (nodes(Temporal("k", 4), Storage(("B",), "BUF"), *LOOPS), "tiles of 4 do not divide 6"),
        (nodes(*LOOPS[1:], Storage(("B",), "BUF"), Spatial("m", 1, "x", "PE")), "PE.x: fanout"),
        (nodes(Temporal("m", 1), Storage(("B",), "BUF"), *LOOPS[1:]), "same counts"),
        (Mapping((*nodes(*LOOPS).nodes[:-1], Compute("Y", "MAC"))), "does not compute Z"),
    ],
)  # fmt: skip
def test_reasons(mapping: Mapping, reason: str) -> None:
    found = space("keep: weight", size=64).contains(mapping)
    assert found is not None
    assert reason in found


def test_overflow_is_a_reason_with_numbers() -> None:
    mapping = nodes(
        Storage(("B",), "BUF"), LOOPS[0], Storage(("A",), "BUF"), LOOPS[1], Storage(("Z",), "BUF"),
        LOOPS[2],
    )  # fmt: skip
    assert space(size=200).contains(mapping) is None
    found = space(size=64).contains(mapping)
    assert found == "BUF needs 152 bits (B 96, A 48, Z 8), its size is 64"


def test_sampling_says_when_nothing_is_left() -> None:
    room = space(dim="fanout: 3, loop_bounds: [{expression: k, operator: ==, value: 5}]")
    assert room.size.points == 0
    with pytest.raises(InfeasibleMapping, match="leave no mapping"):
        room.sample(random.Random(0))


def test_lattice_axes() -> None:
    assert factorise(360) == [(2, 3), (3, 2), (5, 1)]
    lattice = Lattice({"m": 12, "n": 1, "k": 5})
    assert lattice.size == 3 * 2 * 2
    assert lattice.tiles[0].tolist() == [1, 1, 1]
    assert lattice.tiles[-1].tolist() == [12, 1, 5]
    assert len({tuple(tile) for tile in lattice.tiles.tolist()}) == lattice.size
    for axis in lattice.axes:
        steps = lattice.tiles[:: axis.stride, axis.variable][: axis.radix].tolist()
        assert all(b == a * axis.prime for a, b in pairwise(steps))
    reach = lattice.reach(("m", "k"), (4, 5))
    for state, below in enumerate(reach.tolist()):
        m, n, k = lattice.tiles[state].tolist()
        divides = m % 4 == 0 and k % 5 == 0
        assert (below >= 0) is divides
        if divides:
            assert lattice.tiles[below].tolist() == [m // 4, n, k // 5]


def test_a_tile_streams_past_a_deeper_memory() -> None:
    """BUF holds two values, B three: it keeps one at a time, while Y stays in REG."""
    lines = ["arch:", "  nodes:"]
    for name, size, kept, energy in (
        ("DRAM", "inf", "All", 50),
        ("BUF", "2", "weight", 5),
        ("REG", "4", "input | output", 1),
    ):
        lines += [
            f"  - !Memory\n    name: {name}\n    size: {size}\n    leak_power: 0\n    area: 0",
            f"    tensors: {{keep: {kept}}}\n    actions:",
            f"    - {{name: read, energy: {energy}, throughput: inf}}",
            f"    - {{name: write, energy: {energy}, throughput: inf}}",
        ]
    lines += ["  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0"]
    lines += ["    actions: [{name: compute, energy: 1, throughput: 1}]"]
    work = load_workload(
        "workload:\n  rank_sizes: {M: 3, K: 3}\n  bits_per_value: {All: 1}\n  einsums:\n"
        '  - einsum: "Y[m] = A[m, k] * B[k]"\n    renames: {input: A, weight: B, output: Y}\n'
    )
    arch = load_arch("\n".join(lines) + "\n")
    found = search(arch, work)
    by_hand = evaluate(
        arch,
        work,
        load_mapping(
            "mapping:\n  nodes:\n  - !Storage {tensors: [Y, A, B], component: DRAM}\n"
            "  - !Storage {tensors: [B], component: BUF}\n"
            "  - !Storage {tensors: [Y], component: REG}\n"
            "  - !Temporal {rank_variable: k, tile_shape: 1}\n"
            "  - !Storage {tensors: [A], component: REG}\n"
            "  - !Temporal {rank_variable: m, tile_shape: 1}\n"
            "  - !Compute {einsum: Y, component: MAC}\n"
        ),
    )
    assert found.certificate.kind == "optimal"
    assert found.certificate.value == by_hand.energy
    assert search(arch, work, conventions="accelforge").certificate.value > by_hand.energy


@pytest.mark.parametrize("maker", [space_of, tight_space_of, array_space_of])
def test_points_that_fit_are_counted_alike_state_by_state(
    maker: Callable[[int], Mapspace],
) -> None:
    tight = 0
    for seed in range(8):
        for points in maker(seed)._points[:20]:
            found, _ = count_fitting(points, 10**9)
            assert found == walk_fitting(points, 10**9)[0]
            tight += found != points.count
    assert tight
