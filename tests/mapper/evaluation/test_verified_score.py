"""What `evaluate` and `search` say of a mapping beside its costs."""

from __future__ import annotations

import pytest
from fused_cases import two_memories

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.uncounted import UNTIMED
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.errors import MappingError
from tilewright.mapper.workload.workload_loading import load_workload

WORKLOAD = load_workload(
    "workload:\n  rank_sizes: {M: 4, N: 4}\n  bits_per_value: {All: 8}\n"
    '  einsums: ["D[m] = X[m, n]", "A[m, n] = X[m, n] * D[m]"]\n'
)
EARLY = """
mapping:
  nodes:
  - !Storage {tensors: [X, A], component: DRAM}
  - !Storage {tensors: [D], component: BUF}
  - !Temporal {rank_variable: n, tile_shape: 2}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: D, component: MAC}
    - !Nested
      nodes:
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: A, component: MAC}
"""
FREE = """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, leak_power: 0, BOTH}
  - !Compute {name: MAC, actions: [{name: compute, energy: 1, throughput: inf}]}
"""


def test_what_reads_too_early_is_refused_or_not_verified() -> None:
    arch, mapping = two_memories(1000), load_mapping(EARLY)
    with pytest.raises(MappingError, match="does not compute its workload: Einsum A reads D"):
        evaluate(arch, WORKLOAD, mapping)
    score = evaluate(arch, WORKLOAD, mapping, allow_incomplete=True)
    assert not score.verified
    assert score.to_dict()["verified"] is False
    assert "reads D before Einsum D has completed it" in score.notes[0]
    right = evaluate(
        arch,
        WORKLOAD,
        load_mapping(EARLY.replace("variable: n, tile_shape: 2", "variable: m, tile_shape: 2")),
    )
    assert right.verified
    assert right.notes == ()


def test_each_mapping_of_a_search_is_verified() -> None:
    for options in ({}, {"front": ("energy", "latency")}, {"einsum": "D"}, {"fusion": False}):
        result = search(two_memories(64), WORKLOAD, **options)
        assert result.best.score.verified
        assert all(point.score.verified for point in result.front)
        assert not result.notes
        assert "verified" in str(result)


def test_costs_that_the_file_does_not_say() -> None:
    both = "actions: [{name: read, COST}, {name: write, COST}]"
    text = FREE.replace("BOTH", both).replace("COST", "energy: 1, throughput: inf")
    result = search(load_arch(text), WORKLOAD, fusion=False)
    assert result.notes == (
        "counted as 0, because the file does not say it: area of DRAM, MAC; leak_power of MAC",
        UNTIMED,
    )
    document = result.best.score.to_dict()
    assert (document["latency"], document["edp"]) == (None, None)
    assert not result.best.score.is_timed


@pytest.mark.parametrize("rules", ["", ", tensors: {keep: All}"])
def test_a_toll_that_no_tensor_passes_is_named(rules: str) -> None:
    toll = f"- !Toll {{name: Link, direction: down, area: 0, leak_power: 0{rules}, ACTION}}\n  "
    action = "actions: [{name: read, energy: 1, throughput: 1}]"
    text = FREE.replace("- !Compute", toll.replace("ACTION", action) + "- !Compute")
    both = ", ".join(f"{{name: {name}, energy: 1, throughput: 1}}" for name in ("read", "write"))
    result = search(load_arch(text.replace("BOTH", f"actions: [{both}]")), WORKLOAD)
    says = any("the Toll Link charges nothing" in note for note in result.notes)
    assert says is (rules == "")
    assert (result.best.score.actions.get("D/Link/X/read", 0) > 0) is (rules != "")
