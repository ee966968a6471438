"""Mappings scored, and what is refused as no mapping of a workload."""

from __future__ import annotations

import pytest
from mapping_inputs import ARCH, FUSED, GOOD, WORKLOAD, mapping

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError
from tilewright.mapper.workload.workload_loading import load_workload


def test_a_good_mapping_is_scored() -> None:
    score = evaluate(ARCH, WORKLOAD, mapping(GOOD))
    assert score.latency == 12.0
    assert score.to_dict()["actions"]["Z/DRAM/A/read"] == 24  # type: ignore[index]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("k, tile_shape: 1", "k, tile_shape: 2", "has to reach tile_shape 1"),
        ("k, tile_shape: 1", "k, tile_shape: 7", "outside the tile above it"),
        ("rank_variable: k", "rank_variable: q", "has no rank variable 'q'"),
        ("name: x", "name: y", "dimension that is not on the way"),
        ("einsum: Z", "einsum: Y", "no Einsum 'Y'"),
        ("component: MAC", "component: VEC", "no Compute 'VEC'"),
        ("[A], component: BUF", "[A], component: GLB", "'GLB' is not a Memory or Toll"),
        ("[A], component: BUF", "[C], component: BUF", "no tensor 'C'"),
        ("[A], component: BUF", "[A], component: DRAM", "held in DRAM again"),
        ("[A, B, Z], component: DRAM", "[A, Z], component: DRAM", "B is held nowhere"),
        ("[A, B, Z], component: DRAM", "[A, B, Z], component: LINK", "cannot be the outermost"),
        ("Storage {tensors: [A], component: BUF}",
         "Storage {tensors: [A], component: REG}\nStorage {tensors: [A], component: BUF}",
         "against the order of the memory hierarchy"),
        ("Storage {tensors: [A], component: BUF}", "Storage {tensors: [A], component: LINK}",
         "LINK is a Toll, but the mapping names it in a !Storage"),
        ("Storage {tensors: [A], component: BUF}", "Toll {tensors: [A], component: BUF}",
         "BUF is a Memory, but the mapping names it in a !Toll"),
    ],
)  # fmt: skip
def test_what_is_no_mapping_of_the_workload_is_refused(old: str, new: str, what: str) -> None:
    assert old in GOOD
    with pytest.raises(MappingError, match=what) as caught:
        evaluate(ARCH, WORKLOAD, mapping(GOOD.replace(old, new)))
    assert caught.value.instead
    assert caught.value.where is not None
    assert caught.value.where.line is not None


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("m, tile_shape: 2", "m, tile_shape: 4", "uses 4 instances of dimension x of PE"),
        ("[A], component: BUF", "[A, Z, B], component: BUF", "the tiles in BUF need"),
    ],
)
def test_what_does_not_fit_is_infeasible(old: str, new: str, what: str) -> None:
    small = load_arch(ARCH.document).with_values({"BUF.size": 5})
    with pytest.raises(InfeasibleMapping, match=what) as caught:
        evaluate(small, WORKLOAD, mapping(GOOD.replace(old, new)))
    assert caught.value.where is not None
    assert caught.value.where.line in (5, 6)  # the Storage in BUF; the loop over x


def test_the_score_of_a_pipeline_says_that_it_is_sequential() -> None:
    one = "- !Compute {einsum: Z, component: MAC}"
    nodes = f"- !KIND\n    nodes:\n    - !Nested\n      nodes:\n      {one}"
    assert f"  {one}" in FUSED
    plain = GOOD.strip().splitlines()
    head = "".join(f"  - !{line.strip().lstrip('-! ')}\n" for line in plain[:-1])
    scores = {
        kind: evaluate(
            ARCH,
            WORKLOAD,
            load_mapping(f"mapping:\n  nodes:\n{head}  {nodes.replace('KIND', kind)}\n"),
        )
        for kind in ("Sequential", "Pipeline")
    }
    assert scores["Sequential"].notes == ()
    (note,) = scores["Pipeline"].notes
    assert "scored as a !Sequential" in note
    assert scores["Pipeline"].to_dict()["notes"] == [note]
    assert scores["Pipeline"].latency == scores["Sequential"].latency


def test_unknown_conventions_are_refused() -> None:
    with pytest.raises(TilewrightError, match="unknown conventions"):
        evaluate(ARCH, WORKLOAD, mapping(GOOD), "timeloop")


PAIR = load_workload(
    "workload:\n  rank_sizes: {M: 4, N: 6}\n  bits_per_value: {All: 1}\n"
    '  einsums: ["Y[m, n] = A[m] * B[n]", "Z[m] = Y[m, n] * D[n]"]\n'
)


FIRST = """\
    - !Nested
      nodes:
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
"""


SECOND = FIRST.replace("einsum: Y", "einsum: Z")


def in_turn(*branches: str) -> Mapping:
    held = "  - !Storage {tensors: [A, B, D, Y, Z], component: DRAM}\n"
    nodes = "".join(branches)
    return load_mapping(f"mapping:\n  nodes:\n{held}  - !Sequential\n    nodes:\n{nodes}")


@pytest.mark.parametrize(
    ("branches", "what"),
    [
        ([FIRST], "leaves out Einsum Z"),
        ([FIRST, FIRST], "Einsum Y is computed twice"),
        ([FIRST, SECOND, SECOND], "Einsum Z is computed twice"),
        ([SECOND, FIRST], "Einsum Z runs before the Einsum that writes Y"),
    ],
)
def test_each_einsum_has_one_branch_in_order(branches: list[str], what: str) -> None:
    assert evaluate(ARCH, PAIR, in_turn(FIRST, SECOND)).latency == 48.0
    with pytest.raises(MappingError, match=what) as caught:
        evaluate(ARCH, PAIR, in_turn(*branches))
    assert caught.value.instead
    assert caught.value.where is not None
    assert caught.value.where.line is not None
