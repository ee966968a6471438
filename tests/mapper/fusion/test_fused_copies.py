"""What a copy reads and writes stays on chip for others, whole or below loops that it shares."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from copied_cases import BETWEEN, READ_TWICE, workload_with_copies
from explore import at_night
from fused_cases import two_memories

from tilewright.mapper import evaluate, search
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload


def optima(sizes: tuple[int, ...], work: Workload, conventions: str) -> list[SearchResult]:
    """Search the least energy for some sizes of the buffer, from small to large."""
    results = []
    for size in sizes:
        arch = two_memories(size)
        result = search(arch, work, conventions=conventions)
        alone = search(arch, work, conventions=conventions, fusion=False)
        assert result.certificate.kind == "optimal"
        assert evaluate(arch, work, result.best.mapping, conventions) == result.best.score
        assert result.certificate.value <= alone.certificate.value
        results.append(result)
    values = values_of(results)
    assert values == sorted(values, reverse=True)
    return results


def values_of(results: Sequence[SearchResult]) -> list[float]:
    return [result.certificate.value for result in results]


@pytest.mark.parametrize("conventions", ["default", *at_night("accelforge")])
def test_a_copy_stays_on_chip_where_it_fits(conventions: str) -> None:
    """In 12 bits a row of I at a time: it is never written outside, nor read there."""
    results = optima((6, 12, 60), READ_TWICE, conventions)
    assert [result.on_chip for result in results] == [(), ("I",), ("I",)]
    assert results[0].certificate.value > results[1].certificate.value


@pytest.mark.parametrize("objective", ["latency", "edp"])
def test_other_objectives_take_copies_along(objective: str) -> None:
    arch = two_memories(60)
    result = search(arch, READ_TWICE, objective=objective)
    alone = search(arch, READ_TWICE, objective=objective, fusion=False)
    assert result.certificate.lower_bound <= result.certificate.value <= alone.certificate.value


NARROW = load_workload("""
workload:
  rank_sizes: {M: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m] = A[m] * B[m]", renames: {input: A, weight: B, output: Y}}
  - einsum: "X[m] = D[m]"
    is_copy_operation: true
    renames: {input: D, weight: Nothing, output: X}
  - {einsum: "Z[m] = Y[m] * X[m]", renames: {input: Y, weight: X, output: Z}}
  - {einsum: "V[m] = C[m] * X[m]", renames: {input: C, weight: X, output: V}}
""")


def test_a_copy_takes_room_in_its_own_widths() -> None:
    """X has 2 bits per value in the buffer, as output and as weight, below one loop."""
    narrow = two_memories(4).with_values({"BUF.bits_per_value": {"output | weight": 2}})
    plain, result = search(two_memories(4), NARROW), search(narrow, NARROW)
    assert (plain.on_chip, result.on_chip) == ((), ("X",))
    assert result.certificate.kind == "optimal"


def test_what_a_copy_does_not_touch_keeps_the_width_of_its_writer() -> None:
    """A value of Y waits in 2 bits while one of D, 8 bits, is copied: 10.

    Read by Z, it has 8 bits beside the 2 of X: 10, too.
    """
    values = {}
    for size in (9, 10):
        arch = two_memories(size).with_values({"BUF.bits_per_value": {"output | weight": 2}})
        result = search(arch, NARROW, conventions="accelforge")
        assert result.notes == ()
        values[size] = result.certificate.value
        if size == 10:
            assert result.on_chip == ("Y", "X")
            assert result.best.score.capacity["BUF"] == 10
    assert values[10] < values[9]


@pytest.mark.parametrize("conventions", [*at_night("default"), "accelforge"])
def test_what_a_copy_reads_and_writes_stays_on_chip(conventions: str) -> None:
    """11712 is the optimum of AccelForge 1.0.467."""
    results = optima((40, 100, 160, 600), BETWEEN, conventions)
    values = values_of(results)
    assert results[-1].on_chip == ("Y", "X")
    assert values[0] > values[-1]
    if conventions == "accelforge":
        assert values[1:] == [11712] * 3


LATER = workload_with_copies(
    ("A[m, n] = B[m] * C[n]", "copy I[m, n] = A[m, n]", "Z[m] = I[m, n] * A[m, n]"),
    {"m": 4, "n": 3},
)


@pytest.mark.parametrize("conventions", ["default", *at_night("accelforge")])
def test_a_copy_of_what_is_used_later(conventions: str) -> None:
    """In two bits A and I stay on chip: copied to the outer memory, I would be written there."""
    values = values_of(optima((1, 2, 4, 12, 24), LATER, conventions))
    assert values[0] > values[1] > values[2] > values[3] == values[4]
    assert values[1] == 2260
