"""Keys of problems are equal exactly where their signatures are."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from explore import at_night
from nodes import arch_text, mac, memory

from tilewright.mapper.searches import identical_einsums
from tilewright.mapper.searches.identical_einsums import ProblemKeys, problem_signature
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.searches.solver import EinsumSolver
from tilewright.studies import path_of

CHAIN = """\
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 4, A: 8, B: 8, C: 8, D: 8, E: 8}
  einsums:
  - "Q[m, b] = P[m, a] * U[a, b]"
  - "R[m, c] = Q[m, b] * V[b, c]"
  - "S[m, d] = R[m, c] * W[c, d]"
  - "T[m, e] = S[m, d] * X[d, e]"
"""
MACHINE = arch_text(
    memory("Main", "inf", "keep: ~Intermediates, may_keep: All", (1, 1)),
    memory("Buffer", 4096, "keep: ~Main, may_keep: All", (1, 1)),
    mac(),
)


def spaces(hardware, workload):
    request = request_of(hardware, workload, {})
    solver = EinsumSolver(request)
    return [space for e in request.workload.einsums for _, space in solver.mapspaces(e)]


@pytest.fixture
def signatures_made(monkeypatch):
    """The Einsums of which a signature with all placements was made."""
    made = []

    def noted(space):
        made.append(space.einsum.name)
        return problem_signature(space)

    monkeypatch.setattr(identical_einsums, "problem_signature", noted)
    return made


@pytest.mark.parametrize("hardware", ["edge_npu", *at_night("gpu_like", "eyeriss_like")])
@pytest.mark.parametrize("workload", ["bert_base", "mamba2_block", "resnet18", "mixtral_8x7b"])
def test_keys_are_equal_where_signatures_are(hardware, workload):
    several = spaces(path_of("hardware", hardware), path_of("workloads", workload))
    keys = ProblemKeys()
    pairs = [(keys.of(space), problem_signature(space)) for space in several]
    for (key, signature), (other, its_signature) in combinations(pairs, 2):
        assert (key == other) == (signature == its_signature)


def test_placements_of_einsums_that_differ_in_names_are_listed_once(signatures_made):
    several = spaces(MACHINE, CHAIN)
    keys = ProblemKeys()
    signatures_made.clear()
    _, second, third, _ = map(keys.of, several)
    assert second is third
    assert signatures_made == ["Q", "R", "T"]


def test_a_rule_about_one_tensor_tells_its_einsums_apart(signatures_made):
    several = spaces(MACHINE.replace("keep: ~Main,", "keep: ~Main | V,"), CHAIN)
    keys = ProblemKeys()
    signatures_made.clear()
    _, second, third, _ = map(keys.of, several)
    assert second != third
    assert signatures_made == ["Q", "R", "S", "T"]


def test_what_the_outermost_memory_must_keep_tells_einsums_apart():
    space = spaces(MACHINE, CHAIN)[1]
    keys = ProblemKeys()
    assert keys.of(space) != keys.of(replace(space, backed=frozenset()))
