"""Each rule of the architecture that a mapping may break is named, and nothing else."""

from __future__ import annotations

import pytest
from mapping_inputs import mapping
from pinned_answers import all_requests, stored_answers
from product_answers import arch_of

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.broken_rules import broken_rules
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.model.conventions import DEFAULT, conventions_called
from tilewright.mapper.workload.workload_loading import load_workload

COST = "area: 0, leak_power: 0"
BOTH = "actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]"
ARCH = f"""
arch:
  nodes:
  - !Memory {{name: DRAM, size: inf, {COST}, {BOTH}}}
  - !Memory {{name: BUF, size: inf, tensors: {{RULES}}, {COST}, {BOTH}}}
  - !Container {{name: PE, spatial: [{{name: x, fanout: 4, DIM}}]}}
  - !Compute {{name: MAC, {COST}, actions: [{{name: compute, energy: 1, throughput: 1}}]}}
"""
WORKLOAD = load_workload(
    "workload:\n  rank_sizes: {M: 8, K: 6}\n  bits_per_value: {All: 1}\n"
    '  einsums: ["Z[m] = A[m, k] * B[k]"]\n'
)
NODES = """
Storage {tensors: [A, B, Z], component: DRAM}
Temporal {rank_variable: m, tile_shape: 4}
Storage {tensors: [A, B], component: BUF}
Spatial {rank_variable: m, tile_shape: 2, name: x, component: PE}
Temporal {rank_variable: k, tile_shape: 1}
Temporal {rank_variable: m, tile_shape: 1}
Compute {einsum: Z, component: MAC}
"""


def said(rules: str, dim: str = "min_usage: 0", nodes: str = NODES) -> list[str]:
    arch = load_arch(ARCH.replace("RULES", rules).replace("DIM", dim))
    return list(broken_rules(arch, WORKLOAD, mapping(nodes), DEFAULT))


@pytest.mark.parametrize(
    "rules",
    [
        "keep: A | B, may_keep: All",
        "may_keep: A | B",
        "may_keep: All, no_refetch_from_above: A",
        "may_keep: All, no_resend_to_below: A",
        "may_keep: All, tensor_order_options: [[A, B], [Z, A]]",
        "may_keep: All, tile_shape: [{expression: m, operator: '<=', value: 4}]",
    ],
)
def test_rules_that_hold(rules: str) -> None:
    assert said(rules) == []


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("keep: All", "breaks keep of BUF: Z is not held there"),
        ("keep: A", "breaks may_keep of BUF: B is held there"),
        ("may_keep: All, back: A", "breaks back of BUF: A is held above it, too"),
        (
            "may_keep: All, no_refetch_from_above: B",
            "breaks no_refetch_from_above of BUF: a loop over m moves B again",
        ),
        (
            "may_keep: All, no_resend_to_below: B",
            "breaks no_resend_to_below of BUF: a loop over m moves B again",
        ),
        (
            "may_keep: All, tensor_order_options: [[B, A]]",
            "breaks tensor_order_options of BUF: no option has A, B in this order",
        ),
        (
            "may_keep: All, tile_shape: [{expression: m, operator: '<=', value: 2}]",
            "breaks tile_shape of BUF: m = 4 against <= 2",
        ),
    ],
)
def test_a_broken_rule_of_a_memory_is_named(rules: str, sentence: str) -> None:
    assert said(rules) == [f"the mapping {sentence} (Einsum Z)"]


@pytest.mark.row("001.26")
@pytest.mark.parametrize(
    ("dim", "sentence"),
    [
        ("reuse: A", "breaks reuse of PE.x: a loop over m gives the lanes different parts of A"),
        ("min_usage: 1", "breaks min_usage of PE.x: 50 % in use, less than 100 %"),
        (
            "loop_bounds: [{expression: m, operator: '<=', value: 1}]",
            "breaks loop_bounds of PE.x: lanes over m = 2 against <= 1",
        ),
    ],
)
def test_a_broken_rule_of_a_fanout_is_named(dim: str, sentence: str) -> None:
    assert said("may_keep: All", dim) == [f"the mapping {sentence} (Einsum Z)"]
    idle = "\n".join(line for line in NODES.splitlines() if "Spatial" not in line)
    assert bool(said("may_keep: All", dim, idle)) == ("min_usage" in dim)


def test_holders_against_the_order_of_the_memories() -> None:
    nodes = NODES.replace("[A, B, Z], component: DRAM", "[A, Z], component: DRAM")
    nodes = nodes.replace("[A, B], component: BUF", "[A], component: BUF").replace(
        "Temporal {rank_variable: k",
        "Storage {tensors: [B], component: DRAM}\nTemporal {rank_variable: k",
    )
    (sentence,) = said("may_keep: All", nodes=nodes)
    assert sentence.startswith("the mapping breaks force_memory_hierarchy_order of DRAM: B is held")
    assert said("may_keep: All, force_memory_hierarchy_order: false", nodes=nodes) == []


@pytest.mark.row("001.26")
@pytest.mark.parametrize("family", ["single", "fused", "copies", "options"])
def test_answers_of_the_search_break_no_rule(family: str) -> None:
    """But min_usage, which gives way where no mapping reaches it."""
    stored = stored_answers(family)
    compared = 0
    for pinned in all_requests([family]):
        request, answer = pinned.request, stored[pinned.number]
        if not pinned.in_eighth or request["ask"] != "search" or answer["kind"] == "error":
            continue
        conventions = conventions_called(request.get("options", {}).get("conventions", "default"))
        arch, work = arch_of(request), load_workload(request["workload"])
        found = broken_rules(arch, work, load_mapping(answer["mapping"]), conventions)
        assert all("breaks min_usage" in sentence for sentence in found), (pinned.name, found)
        compared += 1
    assert compared > 3
