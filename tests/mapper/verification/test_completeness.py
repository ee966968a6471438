"""Reads of intermediate tensors: mappings that are right or wrong by hand, and the proof."""

from __future__ import annotations

import pytest

from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.verification.completeness import completeness_violations
from tilewright.mapper.verification.einsum_schedule import schedules_of
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.workload_loading import load_workload

PAIR = ("D[m] = X[m, n]", "A[m, n] = X[m, n] * D[m]")
WINDOW = ("T[p] = I[p]", "Z[q] = T[P: q + s] * G[s]")
HOLD = "Storage {tensors: [%s], component: %s}"


def found(
    einsums: tuple[str, ...], sizes: str, shared: list[str], swapped: bool = False
) -> list[Violation]:
    """Return the violations of two Einsums below shared nodes, each with loops down to 1."""
    texts = "".join(f'  - "{text}"\n' for text in einsums)
    work = load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 8}}\n  einsums:\n{texts}"
    )
    branches = []
    for einsum in work.einsums:
        loops = "".join(
            f"      - !Temporal {{rank_variable: {v}, tile_shape: 1}}\n" for v in einsum.bounds
        )
        compute = f"      - !Compute {{einsum: {einsum.name}, component: MAC}}\n"
        branches.append(f"    - !Nested\n      nodes:\n{loops}{compute}")
    top = "".join(f"  - !{node}\n" for node in shared)
    both = "".join(reversed(branches) if swapped else branches)
    text = f"mapping:\n  nodes:\n{top}  - !Sequential\n    nodes:\n{both}"
    return list(completeness_violations(schedules_of(load_mapping(text)), work))


def for_(variable: str, tile: int = 1) -> str:
    return f"Temporal {{rank_variable: {variable}, tile_shape: {tile}}}"


def lanes(variable: str, tile: int = 1) -> str:
    return f"Spatial {{rank_variable: {variable}, tile_shape: {tile}, name: x, component: PE}}"


DRAM, BUF = HOLD % ("X, A", "DRAM"), HOLD % ("D", "BUF")


@pytest.mark.parametrize(
    "shared",
    [
        [HOLD % ("X, A, D", "DRAM")],
        [DRAM, BUF, for_("m")],
        [DRAM, for_("m"), BUF],
        [DRAM, lanes("m", 2), BUF],
    ],
)
def test_a_sum_that_ends_before_it_is_read(shared: list[str]) -> None:
    assert found(PAIR, "M: 4, N: 4", shared) == []


def test_a_sum_that_goes_on_while_it_is_read() -> None:
    (violation,) = found(PAIR, "M: 4, N: 4", [DRAM, BUF, for_("n", 2)])
    assert violation.rule == "complete before read"
    assert "both stand below a loop over n, which D sums over" in violation.text
    assert violation.instead == "separate D and A above the loop over n"


def test_parts_of_a_sum_that_nothing_joins() -> None:
    violations = found(PAIR, "M: 4, N: 4", [DRAM, lanes("n", 2), BUF])
    assert {violation.rule for violation in violations} == {"sums joined", "complete before read"}


def test_a_window_that_reaches_into_the_next_tile() -> None:
    """Tiles of 2 of T[5] with windows of 2: the first tile of Z reads T[0..2], one too many."""
    top = [HOLD % ("I, G, Z", "DRAM"), HOLD % ("T", "BUF")]
    loop = "Temporal {rank_variable: p, tile_shape: 2, names: {Z: q}}"
    violations = found(WINDOW, "P: 5, Q: 4, S: 2", [*top, loop])
    assert [violation.rule for violation in violations] == ["complete before read"]
    first = loop.replace("tile_shape: 2", "tile_shape: 2, initial_tile_shape: 5")
    assert found(WINDOW, "P: 5, Q: 4, S: 2", [*top, first]) == []


def test_a_window_that_was_in_the_tile_before() -> None:
    """T of one turn is gone in the next; Z still needs its last value."""
    top = [HOLD % ("I, G, Z", "DRAM")]
    loop = "Temporal {rank_variable: p, tile_shape: 2, initial_tile_shape: 3, names: {Z: q}}"
    violations = found(WINDOW, "P: 5, Q: 4, S: 2", [*top, loop, HOLD % ("T", "BUF")])
    assert violations
    assert {violation.rule for violation in violations} <= {
        "held until read",
        "complete before read",
    }


def test_results_must_outlast_the_loops() -> None:
    violations = found(
        PAIR, "M: 4, N: 4", [HOLD % ("X", "DRAM"), for_("m"), HOLD % ("A, D", "BUF")]
    )
    assert "when the loop ends, only its last tile is there" in violations[0].text
    violations = found(PAIR, "M: 4, N: 4", [HOLD % ("X, D", "DRAM")])
    assert "nothing holds A, the result of Einsum A" in violations[0].text


def test_an_einsum_that_runs_before_the_one_it_reads_from() -> None:
    violations = found(PAIR, "M: 4, N: 4", [HOLD % ("X, A, D", "DRAM")], swapped=True)
    assert violations[0].text == "Einsum A runs before Einsum D, which writes D"


def test_two_places_for_one_tensor() -> None:
    """Without a common holder the reader looks where nothing was written."""
    text = """
mapping:
  nodes:
  - !Storage {tensors: [X, A], component: DRAM}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Storage {tensors: [D], component: BUF}
      - !Compute {einsum: D, component: MAC}
    - !Nested
      nodes:
      - !Storage {tensors: [D], component: BUF}
      - !Compute {einsum: A, component: MAC}
"""
    work = load_workload(
        "workload:\n  rank_sizes: {M: 1, N: 1}\n  bits_per_value: {All: 8}\n"
        f'  einsums: ["{PAIR[0]}", "{PAIR[1]}"]\n'
    )
    (violation,) = completeness_violations(schedules_of(load_mapping(text)), work)
    assert "left in another Storage node" in violation.text
