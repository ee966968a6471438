"""The proof that tiles fit, beside the model's own count and by hand."""

from __future__ import annotations

from collections.abc import Mapping as Counts
from fractions import Fraction
from math import inf

import pytest
from fused_cases import two_memories
from mapping_inputs import ARCH, GOOD, WORKLOAD, mapping
from pinned_answers import all_requests, stored_answers
from product_answers import arch_of

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.verification.capacity_proof import (
    FullMoment,
    capacity_violations,
    fullest_moments,
)
from tilewright.mapper.verification.component_paths import component_paths
from tilewright.mapper.verification.einsum_schedule import schedules_of
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

TWO = load_workload(
    "workload:\n  rank_sizes: {M: 4, K: 6, N: 8}\n  bits_per_value: {All: 2}\n"
    '  einsums: ["Y[m] = A[m, k] * B[k]", "Z[m, n] = Y[m] * C[n]"]\n'
)
FUSED = """
mapping:
  nodes:
  - !Storage {tensors: [A, B, C, Z], component: DRAM}
  - !Storage {tensors: [B], component: BUF}
  - !Temporal {rank_variable: m, tile_shape: 2}
  - !Storage {tensors: [Y], component: BUF}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Storage {tensors: [A], component: BUF}
      - !Temporal {rank_variable: k, tile_shape: 1}
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
    - !Nested
      nodes:
      - !Storage {tensors: [C], component: BUF}
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: Z, component: MAC}
"""
"""While Y runs: 6 values of B, 2 of Y, 1 of A; while Z runs: B waits for its turn, Y, 8 of C."""


def moments(arch: Arch, work: Workload, nest: Mapping) -> dict[str, FullMoment]:
    return fullest_moments(arch, schedules_of(nest), work)


def broken(arch: Arch, work: Workload, nest: Mapping) -> list[Violation]:
    return list(
        capacity_violations(
            component_paths(arch, work, schedules_of(nest)), schedules_of(nest), work
        )
    )


def test_the_fullest_moment_by_hand() -> None:
    found = moments(two_memories(64), TWO, load_mapping(FUSED))
    assert set(found) == {"BUF"}  # DRAM has no end
    moment = found["BUF"]
    assert (moment.einsum, moment.share) == ("Z", Fraction(2 * (6 + 2 + 8), 64))
    assert [tile.key[1] for tile in moment.tiles] == ["C", "B", "Y"]


@pytest.mark.parametrize(("size", "fits"), [(32, True), (31, False)])
def test_a_memory_may_be_full_but_not_overfilled(size: int, fits: bool) -> None:
    found = broken(two_memories(size), TWO, load_mapping(FUSED))
    assert (not found) == fits
    if found:
        (violation,) = found
        assert violation.rule == "tiles fit"
        assert violation.text == (
            "while Einsum Z runs, BUF holds tiles of 1.032 times its size: C, B, Y"
        )


def test_lanes_beyond_the_fanout() -> None:
    assert broken(ARCH, WORKLOAD, mapping(GOOD)) == []
    (violation,) = broken(
        ARCH, WORKLOAD, mapping(GOOD.replace("m, tile_shape: 2", "m, tile_shape: 4"))
    )
    assert violation.rule == "lanes exist"
    assert violation.text == "Einsum Z runs on 4 lanes of PE.x, which has 2"


def test_a_memory_that_is_not_there() -> None:
    (violation,) = broken(ARCH, WORKLOAD, mapping(GOOD.replace("BUF", "CACHE")))
    assert violation.text == "Einsum Z uses CACHE, which is not on its path of components"


def _mappings(request: dict[str, object], answer: dict[str, object]) -> list[str]:
    if request["ask"] == "evaluate":
        return [str(request["mapping"])]
    front = answer.get("front_mappings", [])
    assert isinstance(front, list)
    return [str(answer["mapping"]), *front[:3]]


@pytest.mark.parametrize("family", ["evaluate", "single", "fused", "copies", "uneven"])
def test_the_fullest_moments_equal_those_of_the_model(family: str) -> None:
    """Two counts without common code, on each mapping of an eighth of the pinned answers."""
    stored = stored_answers(family)
    compared = 0
    for pinned in all_requests([family]):
        request, answer = pinned.request, stored[pinned.number]
        is_asked = request["ask"] in {"search", "evaluate"} and answer["kind"] != "error"
        if not pinned.in_eighth or not is_asked or "einsum" in request.get("options", {}):
            continue
        arch, work = arch_of(request), load_workload(request["workload"])
        for text in _mappings(request, answer):
            nest = load_mapping(text)
            try:
                capacity = evaluate(arch, work, nest, allow_incomplete=True).capacity
            except InfeasibleMapping:  # found under the accelforge conventions
                assert broken(arch, work, nest), pinned.name
                continue
            assert not broken(arch, work, nest), pinned.name
            compared += compare(moments(arch, work, nest), capacity, sizes_of(arch, work))
    assert compared >= 5


def compare(
    found: dict[str, FullMoment],
    capacity: Counts[str, Fraction | int],
    sizes: dict[str, set[float]],
) -> int:
    """Compare the fullest moments with the bits of the model; return of how many memories."""
    finite = [name for name in capacity if len(sizes[name]) == 1 and sizes[name] != {inf}]
    for memory in finite:
        (size,) = sizes[memory]
        share = found[memory].share if memory in found else 0
        assert share * Fraction(size) == capacity[memory], memory
    return len(finite)


def sizes_of(arch: Arch, work: Workload) -> dict[str, set[float]]:
    """Return the sizes of each memory that the Einsums see."""
    sizes: dict[str, set[float]] = {}
    for einsum in work.einsums:
        for flat in flatten(arch, work.scope(einsum)):
            for component in flat.components:
                if isinstance(component, Memory):
                    sizes.setdefault(component.name, set()).add(component.size)
    return sizes
