"""Cycles from the first columns of a grid, solved alone, beside the engine on the whole grid."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from explore import at_night, enough
from passing_programs import passing_program
from tests.agreement.test_column_cycles import FORMS, mapped_programs, profile_of, whole_cycles
from tests.oracles.grid_mappings import einsum_on_grid

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridMapspace
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import effort_before
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.plan import program_of
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.transposed import transposed
from tilewright.simulator.quotient import shifted_columns
from tilewright.simulator.quotient.shifted_columns import (
    SolvedColumns,
    UnsolvedColumns,
    cycles_by_shift,
    shifted_cycles,
)
from tilewright.simulator.search.candidates import program_cycles
from tilewright.simulator.search.candidates.candidates import Candidates


def is_proved(program: Program, profile: Profile) -> bool:
    """Compare a program's cycles with those of the whole grid, if its columns prove them."""
    try:
        cycles = shifted_cycles(program, profile)
    except UnsolvedColumns:
        return False
    assert cycles is None or cycles == whole_cycles(program, profile)
    return cycles is not None


@pytest.mark.parametrize("block", [0, *at_night(*range(1, 40))])
def test_drawn_programs(block: int) -> None:
    seeds = range(100 * block, 100 * (block + 1))
    proved = sum(is_proved(passing_program(seed), profile_of(seed)) for seed in seeds)
    assert enough(proved, 1)


@pytest.mark.parametrize("group", [2, 3, 4])
@pytest.mark.parametrize(
    "seeds", [range(30), *at_night(*(range(n, n + 120) for n in range(30, 600, 120)))]
)
def test_drawn_programs_of_groups(group: int, seeds: range) -> None:
    """The last column of a group takes words of the first one: single columns prove nothing.

    One of eight to twenty programs is proved.
    """
    programs = [(passing_program(seed, group), profile_of(seed)) for seed in seeds]
    assert enough(sum(is_proved(*drawn) for drawn in programs), 1)


@pytest.mark.parametrize("size", [(3, 17), *at_night((4, 24), (9, 32), (2, 40))])
@pytest.mark.parametrize("most", [6, *at_night(12)])
def test_mappings(size: tuple[int, int], most: int) -> None:
    rows, columns = size
    programs = [p for form in range(len(FORMS)) for p in mapped_programs(form, rows, columns, most)]
    assert sum(is_proved(program, profile_of(1)) for program in programs) >= most // 2


def vector_candidates(grid: int, size: int) -> Candidates:
    flat, einsum = einsum_on_grid(
        "Z[m] = A[m, k] * B[k]", {"M": size, "K": size}, (grid, grid), "A", 16
    )
    space = GridMapspace(grid_of(flat), einsum)
    return Candidates.unbounded("latency", ExecutionSettings(), flat, space)


def vector_programs(grid: int, size: int) -> list[Program]:
    """All reductions of the first families of a matrix in the elements times a vector."""
    candidates = vector_candidates(grid, size)
    resident = [f for f in candidates.space.families() if f.resident and f.tile is None]
    families = [f for f in resident if [share.count for share in f.shares] == [grid, grid]]
    return [
        program_of(candidates.plan(choice))
        for family in families
        for choice in candidates.space.members(family)
    ]


def test_rows_that_do_the_same_are_columns_of_the_transposed_program() -> None:
    profile = profile_of(1)
    programs = vector_programs(16, 96)
    crossed = 0
    for program in programs:
        assert is_proved(program, profile)
        try:
            cycles_by_shift(program, profile)
        except NotCovered:
            crossed += 1
            assert cycles_by_shift(transposed(program), profile)
    assert 0 < crossed < len(programs)


def test_columns_that_begin_otherwise_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words come to the first columns before their tasks start: without the check it is wrong."""
    profile = profile_of(1)
    program = next(p for p in vector_programs(16, 96) if p.edge_inputs[0].side == "W")
    monkeypatch.setattr(shifted_columns, "FEWEST", 2)
    monkeypatch.setattr(shifted_columns, "ATTEMPTS", (3,))
    with pytest.raises(NotCovered, match="a hop later"):
        cycles_by_shift(program, profile)
    monkeypatch.setattr(SolvedColumns, "are_shifted", lambda _: True)
    monkeypatch.setattr(shifted_columns, "ATTEMPTS", (2,))
    assert cycles_by_shift(program, profile) != whole_cycles(program, profile)


def paired_programs() -> Iterator[Program]:
    """Programs of a matrix times a vector whose sums go through pairs of columns first."""
    candidates = vector_candidates(16, 96)
    resident = [f for f in candidates.space.families() if f.resident and f.tile is None]
    for family in resident:
        if sorted(share.count for share in family.shares) == [2, 8, 16]:
            for choice in candidates.space.members(family):
                with suppress(ProgramError, InfeasibleMapping):
                    yield program_of(candidates.plan(choice))


def test_pairs_of_columns_of_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many are proved as groups only; by the first group alone some would be wrong."""
    profile, programs = profile_of(1), list(paired_programs())
    in_groups = [program for program in programs if is_proved(program, profile)]
    monkeypatch.setattr(shifted_columns, "_group_widths", lambda _: iter((1,)))
    assert sum(is_proved(program, profile) for program in in_groups) + 3 < len(in_groups)
    monkeypatch.undo()
    monkeypatch.setattr(SolvedColumns, "are_shifted", lambda _: True)
    monkeypatch.setattr(shifted_columns, "FEWEST", 1)
    monkeypatch.setattr(shifted_columns, "ATTEMPTS", (1,))
    cycles = [shifted_cycles(program, profile) for program in in_groups]
    assert cycles != [whole_cycles(program, profile) for program in in_groups]


def cycles_or_none(candidates: Candidates, choice: GridChoice) -> int | None:
    try:
        return candidates.simulated_cycles(choice)
    except ProgramError:
        return None


def test_a_search_takes_the_cycles_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fast engine before every run, and without it, candidates take the same cycles."""
    found = []
    for pays in (0, 1 << 60):
        monkeypatch.setattr(program_cycles, "PROOF_PAYS", pays)
        candidates = vector_candidates(12, 72)
        families = list(candidates.space.families())[::100]
        choices = [c for family in families for c in candidates.space.members(family)[:2]]
        found.append([cycles_or_none(candidates, choice) for choice in choices])
    assert found[0] == found[1]
    assert len(found[0]) > 7


def test_little_effort_is_a_part_of_the_run() -> None:
    assert effort_before(1 << 20).patience == 1 << 13
    assert effort_before(0).patience == 1
    assert not effort_before(1 << 20).in_parts
