"""Sizes that each Einsum sees in its own way, decided as by AccelForge 1.0.467 (evaluated there).

While Z runs, B (16 bits, of Y) stays above the loop that both run in, and fills a part of what Y
sees; Y's tile (4) and Z's (1) fill parts of what Z sees.
"""

from __future__ import annotations

import pytest
from nodes import arch_text, mac, memory

from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = arch_text(
    memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", (1, 1)),
    memory("BUF", "SIZE", "may_keep: All", (0, 10)),
    mac(),
)
WORKLOAD = """
workload:
  rank_sizes: {M: 4, K: 4, N: 4}
  bits_per_value: {All: 1}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {weight: B}}
  - {einsum: "Z[m, n] = Y[m, n]", renames: {weight: Nothing}}
"""
FUSED = """
mapping:
  nodes:
  - !Storage {tensors: [A, B, Z], component: DRAM}
  ABOVE
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Storage {tensors: [Y], component: BUF}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      BRANCH
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Temporal {rank_variable: k, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
    - !Nested
      nodes:
      - !Storage {tensors: [Z], component: BUF}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: Z, component: MAC}
"""
HELD = FUSED.replace("ABOVE", "- !Storage {tensors: [B], component: BUF}").replace(
    "BRANCH", "- !Storage {tensors: [A], component: BUF}"
)
ONLY_Y = "\n".join(line for line in FUSED.splitlines() if line.strip() not in {"ABOVE", "BRANCH"})


@pytest.mark.parametrize(
    ("mapping", "size", "part"),
    [
        (HELD, "24", None),
        (HELD, "23", "24 bits"),
        (HELD, "24 if weight else 16", None),
        (HELD, "24 if weight else 13", "1.05128 times"),
        (HELD, "24 if weight else 8", "1.29167 times"),
        (HELD, "48 if weight else 8", None),
        (HELD, "48 if weight else 7", "1.04762 times"),
        (HELD, "96 if weight else 8", None),
        (HELD, "96 if weight else 5", "1.16667 times"),
        (ONLY_Y, "8 if weight else 80", None),
        (ONLY_Y, "80 if weight else 5", None),
        (ONLY_Y, "80 if weight else 4", "1.25 times"),
    ],
)
def test_tiles_fill_the_part_that_their_einsum_sees(
    mapping: str, size: str, part: str | None
) -> None:
    arch, workload = load_arch(ARCH.replace("SIZE", size)), load_workload(WORKLOAD)
    nodes = load_mapping(mapping)
    if part is None:
        evaluate(arch, workload, nodes, "accelforge")
        return
    with pytest.raises(InfeasibleMapping, match=f"the tiles in BUF need {part}"):
        evaluate(arch, workload, nodes, "accelforge")


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_a_register_for_weights_has_no_room_where_there_are_none(conventions: str) -> None:
    """As in published designs: the search of both Einsums finds what the model accepts."""
    register = """
  - !Memory
    name: REG
    size: weight.bits_per_value if weight else 0
    area: 0
    leak_power: 0
    tensors: {keep: weight}
    actions: [{name: read, energy: 0, throughput: 10}, {name: write, energy: 0, throughput: 10}]
  - !Compute"""
    arch = load_arch(ARCH.replace("SIZE", "100").replace("\n  - !Compute", register))
    found = search(arch, load_workload(WORKLOAD), objective="energy", conventions=conventions)
    assert found.certificate.kind == "optimal"
    # A, B and Z move once; Y stays on chip
    assert found.best.score.energy == 3 * 16 + 64 + 16
    assert found.best.score.memory_bits["Y/REG/B"] == 1


@pytest.mark.parametrize(
    ("size", "joule", "seconds"),
    [
        ("24 if weight else 13", 128, 80),
        pytest.param("12 if weight else 6", 144, 80, marks=pytest.mark.nightly),
        ("8 if weight else 80", 160, 80),
        pytest.param("6 if weight else 5", 176, 96, marks=pytest.mark.nightly),
        pytest.param("inf if weight else 4", 128, 80, marks=pytest.mark.nightly),
        ("4 if weight else 2", 192, 112),
    ],
)
def test_einsums_share_loops_where_they_see_two_sizes(
    size: str, joule: float, seconds: float
) -> None:
    """Optima of its mapper, each tensor kept in one memory at least."""
    text = ARCH.replace("SIZE", size).replace("{may_keep: All}", "{keep: ~DRAM, may_keep: All}")
    arch, workload = load_arch(text), load_workload(WORKLOAD)
    for objective, value in (("energy", joule), ("latency", seconds)):
        found = search(arch, workload, objective=objective, conventions="accelforge")
        assert found.certificate.kind == "optimal"
        assert found.certificate.value == value
        assert not found.notes
