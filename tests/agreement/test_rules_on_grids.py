"""Rules of an architecture hold for what a search on a grid finds; what they leave is searched."""

from __future__ import annotations

from functools import cache

import pytest
from explore import at_night
from grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.evaluation.broken_rules import broken_rules
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.fronts.grid_front import GridFrontSearch
from tilewright.simulator.search.grid_mapping import GridMapping, map_on_grid
from tilewright.simulator.search.grid_search import GridSearch

X, Y = "- {name: X, fanout: GridX}", "- {name: Y, fanout: GridY}"
SRAM = "tensors: {keep: All}"
HOST = "tensors: {keep: ~(Persistent | Intermediates), may_keep: All}"
SCALAR = "tensors: {keep: Nothing, may_keep: ~Outputs}"
PRODUCT = "Z[m, n] = A[m, k] * B[k, n]"


def files(changes: dict[str, str], einsums: str = PRODUCT) -> tuple[str, str]:
    """Return the texts of the shipped grid with some lines changed, and of a workload."""
    text = HARDWARE.read_text(encoding="utf-8")
    for line, other in changes.items():
        assert line in text
        text = text.replace(line, other)
    workload = (
        "workload:\n  rank_sizes: {M: 8, K: 8, N: 6}\n  bits_per_value: {All: 32}\n"
        f"  einsums: ['{einsums}']\n"
    )
    return text, workload


@cache
def without_rules() -> GridMapping:
    """Return the best mapping on the shipped grid as it is."""
    free = load_arch(HARDWARE, variables={"GridX": 4, "GridY": 2})
    return map_on_grid(free, load_workload(load_document("w.yaml", text=files({})[1])))


def lane(name: str, rules: str) -> str:
    return f"- {{name: {name}, fanout: Grid{name}, {rules}}}"


@pytest.mark.parametrize(
    "changes",
    [
        {X: lane("X", "loop_bounds: [{expression: ~m, operator: ==, value: 1}]")},
        {X: lane("X", "loop_bounds: [{expression: All, operator: product<=, value: 2}]")},
        {
            X: lane("X", "loop_bounds: [{expression: All, operator: ==, value: 1}]"),
            Y: lane("Y", "loop_bounds: [{expression: ~k, operator: ==, value: 1}]"),
        },
        {X: lane("X", "reuse: A"), Y: lane("Y", "reuse: B")},
        {X: lane("X", "min_usage: 1"), Y: lane("Y", "min_usage: 1")},
        {SRAM: "tensors: {keep: All, tile_shape: [{expression: k, operator: <=, value: 2}]}"},
        {SRAM: "tensors: {keep: All, tile_shape: [{expression: k | m, operator: ==, value: 8}]}"},
        {SRAM: "tensors: {keep: All, no_refetch_from_above: A | Z}"},
        {SCALAR: "tensors: {keep: B, may_keep: B}"},
    ],
)
def test_the_mapping_found_breaks_no_rule(changes: dict[str, str]) -> None:
    arch_text, workload_text = files(changes)
    arch = load_arch(load_document("a.yaml", text=arch_text), variables={"GridX": 4, "GridY": 2})
    workload = load_workload(load_document("w.yaml", text=workload_text))
    found = map_on_grid(arch, workload)
    assert found.certificate.is_optimal
    assert not broken_rules(arch, workload, found.mapping, conventions_called("default"))
    best = without_rules()
    assert best.value <= found.value
    if not broken_rules(arch, workload, best.mapping, conventions_called("default")):
        assert best.value == found.value


@pytest.mark.parametrize(("line", "memory"), [(SRAM, "SRAM"), (HOST, "Host")])
def test_rules_without_a_mapping_say_which(line: str, memory: str) -> None:
    arch_text, workload_text = files({line: "tensors: {keep: A | Z, may_keep: A | Z}"})
    arch = load_arch(load_document("a.yaml", text=arch_text))
    workload = load_workload(load_document("w.yaml", text=workload_text))
    with pytest.raises(
        InfeasibleMapping, match=f"may_keep of {memory}: B is held there"
    ) as refused:
        map_on_grid(arch, workload)
    assert "other rules" in refused.value.instead
    assert "more elements" not in refused.value.instead


@pytest.mark.parametrize(
    ("tensor", "axis"),
    [
        ("A", "X"),
        ("Z", "Y"),
        *(pytest.param(*one, marks=pytest.mark.nightly) for one in ("AY", "ZX")),
    ],
)
def test_elements_have_nothing_in_common_that_they_may_not(tensor: str, axis: str) -> None:
    """A is not indexed by n, Z is summed over k: such loops need a transfer to several elements."""
    others = {"A": "B | Z", "Z": "A | B"}[tensor]
    line = {"X": X, "Y": Y}[axis]
    arch_text, workload_text = files({line: lane(axis, f"may_reuse: {others}")})
    arch = load_arch(load_document("a.yaml", text=arch_text))
    workload = load_workload(load_document("w.yaml", text=workload_text))
    einsum = workload.einsums[0]
    flat = grid_path(arch, workload, einsum)
    variable = {"A": "n", "Z": "k"}[tensor]
    tile = einsum.bounds[variable] // 2
    nodes = [
        Storage(("A", "B", "Z"), "Host"),
        Spatial(variable, tile, axis, grid_of(flat).fanout),
        Storage(("A", "B", "Z"), "SRAM"),
        Temporal("m", 1),
        Temporal("k", 1),
        Storage(("A",), "Scalar"),
        Temporal("n", 1),
        ComputeNode("Z", "Engine"),
    ]
    with pytest.raises(InfeasibleMapping, match=f"have {tensor} in common") as refused:
        space_time(flat, einsum, Mapping(tuple(nodes)))
    assert "may_reuse" in refused.value.instead
    found = map_on_grid(arch, workload)
    dims = {node.rank_variable for node in found.mapping.nodes
            if isinstance(node, Spatial) and node.name == axis}  # fmt: skip
    assert variable not in dims


@pytest.mark.parametrize(
    "rules", [("B", "A"), ("Z", "A"), *at_night(("B", "All"), ("Nothing", "All"))]
)
def test_shares_that_have_nothing_in_common_are_searched(rules: tuple[str, str]) -> None:
    """Divisions of the least work would have a tensor in common that they may not."""
    lanes = {X: lane("X", f"may_reuse: {rules[0]}"), Y: lane("Y", f"may_reuse: {rules[1]}")}
    arch_text, workload_text = files(lanes)
    arch = load_arch(load_document("a.yaml", text=arch_text))
    workload = load_workload(load_document("w.yaml", text=workload_text))
    answer = map_on_grid(arch, workload)
    assert answer.certificate.is_optimal
    indexing = {"m": "AZ", "k": "AB", "n": "BZ"}
    for node in answer.mapping.nodes:
        if isinstance(node, Spatial):
            may = rules[0] if node.name == "X" else rules[1]
            common = set("ABZ").difference(indexing[node.rank_variable])
            assert may == "All" or common <= {may}


@pytest.mark.parametrize("every", [12, *at_night(1)])
@pytest.mark.parametrize("rules", [("B | Z", "All"), ("All", "All")])
def test_a_choice_that_breaks_a_rule_of_an_axis_has_no_cycles(
    rules: tuple[str, str], every: int
) -> None:
    """The transposed one may obey it: shares of n along X would have a streamed A in common."""
    lanes = {X: lane("X", f"may_reuse: {rules[0]}"), Y: lane("Y", f"may_reuse: {rules[1]}")}
    arch_text, workload_text = files(lanes)
    workload_text += "  persistent_tensors: A\n"
    arch = load_arch(load_document("a.yaml", text=arch_text), variables={"GridX": 4, "GridY": 4})
    workload = load_workload(load_document("w.yaml", text=workload_text))
    flat, einsum = grid_path(arch, workload, workload.einsums[0]), workload.einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    candidates = Candidates.unbounded("latency", ExecutionSettings(), flat, space)
    refused = 0
    families = list(space.families())[::-every]  # those that share n along Y come first
    for choice in (c for family in families for c in space.members(family)[:1]):
        try:
            candidates.least_cycles(choice)
            candidates.simulated_cycles(choice)
        except InfeasibleMapping:
            refused += 1
            continue
        space_time(flat, einsum, space.mapping_of(choice))  # raises if it breaks a rule
    assert refused > 0 or rules[0] == "All"


PINS = """
  - !Toll
    name: Pins
    direction: up_and_down
    leak_power: 0
    area: 0
    tensors: {keep: RULE, may_keep: All}
    actions: [{name: read, energy: 1e-12, throughput: inf}]
"""
CACHE = """
  - !Memory
    name: Cache
    size: 4096
    leak_power: 0
    area: 0
    actions: [{name: read, energy: 0, throughput: inf}, {name: write, energy: 0, throughput: inf}]
"""


def test_no_mapping_leaves_out_a_toll_that_must_be_passed() -> None:
    begin = "  - !Network\n"
    for rule in ("Nothing", "A"):
        arch_text, workload_text = files({begin: f"{PINS.replace('RULE', rule)}\n{begin}"})
        arch = load_arch(load_document("a.yaml", text=arch_text))
        workload = load_workload(load_document("w.yaml", text=workload_text))
        if rule == "Nothing":
            assert map_on_grid(arch, workload).certificate.is_optimal
            continue
        with pytest.raises(InfeasibleMapping, match="breaks keep of Pins: A is not held there"):
            map_on_grid(arch, workload)


OUTERMOST = """  - !Memory
    name: Disk
    size: inf
    area: 0
    leak_power: 0
    tensors: {keep: RULE, may_keep: All}
    actions: [{name: read, energy: 0, throughput: inf}, {name: write, energy: 0, throughput: inf}]
"""


def test_a_memory_above_the_host_that_must_keep_something_is_named() -> None:
    begin = "  nodes:\n"
    arch_text, workload_text = files({begin: begin + OUTERMOST.replace("RULE", "~Intermediates")})
    arch = load_arch(load_document("a.yaml", text=arch_text))
    workload = load_workload(load_document("w.yaml", text=workload_text))
    with pytest.raises(InfeasibleMapping, match="but Disk above it must keep A") as refused:
        map_on_grid(arch, workload)
    flat, einsum = grid_path(arch, workload, workload.einsums[0]), workload.einsums[0]
    for search_ in (GridSearch(), GridFrontSearch()):
        with pytest.raises(InfeasibleMapping, match="but Disk above it must keep A"):
            search_.run(flat, einsum)
    assert (refused.value.instead or "").startswith("an architecture without Disk")


def test_an_element_has_one_memory_and_a_register() -> None:
    begin = "  - !Memory\n    name: Scalar"
    arch_text, workload_text = files({begin: f"{CACHE}\n{begin}"})
    arch = load_arch(load_document("a.yaml", text=arch_text))
    workload = load_workload(load_document("w.yaml", text=workload_text))
    with pytest.raises(InfeasibleMapping, match="an element of a grid has one memory") as refused:
        map_on_grid(arch, workload)
    assert refused.value.value == ["SRAM", "Cache", "Scalar"]


@pytest.mark.parametrize("persistent", ["Nothing", "B"])
def test_only_persistent_tensors_are_free_in_the_model_of_the_shipped_grid(persistent: str) -> None:
    """Without names for inputs and weights, both operands of a product were called weights."""
    _, text = files({})
    text = text.replace("  einsums", f"  persistent_tensors: {persistent}\n  einsums")
    arch = load_arch(HARDWARE, variables={"GridX": 4, "GridY": 2})
    workload = load_workload(load_document("w.yaml", text=text))
    actions = search(arch, workload, objective="energy").best.score.actions
    sizes = {"A": 8 * 8, "B": 8 * 6}
    for tensor, values in sizes.items():
        entered = float(actions.get(f"Z/Host/{tensor}/read", 0))
        assert entered == (0 if tensor == persistent else values)
