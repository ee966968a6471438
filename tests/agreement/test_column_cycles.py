"""Cycles from a few columns of a grid, beside the reference engine on the whole grid."""

from collections.abc import Iterator
from functools import cache

import pytest
from explore import at_night
from passing_programs import passing_program
from tests.oracles.grid_mappings import einsum_on_grid

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient import line_shifts
from tilewright.simulator.quotient.line_shifts import cycles_by_columns
from tilewright.simulator.quotient.narrow_run import NarrowRun
from tilewright.simulator.run.machine import Machine

PROFILES = ("wse3-sdk-sim", "wse2-sdk-sim", "generic")
FORMS = (
    ("Z[m, n] = A[m, k] * B[k, n]", "B"),
    ("Z[m, n] = A[m, n] + B[n]", "Nothing"),
    ("Z[m, n] = A[m, n] * B[m, n]", "Nothing"),
    ("Z[m, n] = A[m, n] * B[m, n]", "A"),
    ("Z[m] = A[m, k]", "Nothing"),
    ("Z[m, n] = A[m, n]", "Z"),
)
"""An Einsum, and the tensors that are in the elements before the run."""


def mapped_programs(
    form: int, rows: int, columns: int, most: int, bits: int = 32
) -> Iterator[Program]:
    """Yield programs of mappings of a form on a grid, of each family one."""
    einsum_text, kept = FORMS[form]
    sizes = {"M": 2 * max(rows, columns), "N": 2 * columns, "K": 2 * columns}
    flat, einsum = einsum_on_grid(einsum_text, sizes, (columns, rows), kept, bits)
    space = GridMapspace(grid_of(flat), einsum, GridConstraints())
    families = list(space.families())
    for family in families[:: max(1, len(families) // most)]:
        choice = space.members(family)[0]
        try:
            yield program_of(plan_of(space_time(flat, space.einsum, space.mapping_of(choice))))
        except (InfeasibleMapping, ProgramError):
            continue


def is_proved(program: Program, profile: Profile) -> bool:
    """Compare a program's cycles with those of the whole grid, if its columns prove them."""
    try:
        cycles, columns = cycles_by_columns(program, profile)
    except NotCovered:
        return False
    assert 2 * columns <= program.width
    assert cycles == whole_cycles(program, profile)
    return True


def whole_cycles(program: Program, profile: Profile) -> int:
    return Machine(program, profile).cycles()


@cache
def profile_of(number: int) -> Profile:
    return load_profile(PROFILES[number % len(PROFILES)])


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 120))])
def test_drawn_programs(part: int) -> None:
    seeds = range(20 * part, 20 * (part + 1))
    proved = sum(is_proved(passing_program(seed), profile_of(seed)) for seed in seeds)
    assert proved >= 2


@pytest.mark.parametrize("form", [0, 2, 4, *at_night(1, 3, 5)])
@pytest.mark.parametrize("size", [(4, 24), *at_night((3, 17), (9, 32), (16, 41), (2, 96))])
def test_mappings(form: int, size: tuple[int, int]) -> None:
    rows, columns = size
    programs = list(mapped_programs(form, rows, columns, most=12))
    assert sum(is_proved(program, profile_of(1)) for program in programs) >= 1


@pytest.mark.parametrize(
    ("seed", "what", "check"),
    [(46, "do not rest", (NarrowRun, "rests")), (116, "wait", (line_shifts, "_check_passed"))],
)
def test_a_condition_that_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, seed: int, what: str, check: tuple[object, str]
) -> None:
    """The proof is refused; without the check of the condition the cycles would be wrong."""
    program, profile = passing_program(seed), load_profile("wse3-sdk-sim")
    with pytest.raises(NotCovered, match=what):
        cycles_by_columns(program, profile)
    monkeypatch.setattr(*check, lambda *_: True)
    assert cycles_by_columns(program, profile)[0] != whole_cycles(program, profile)


@pytest.mark.parametrize("seed", [30, 107, 116, *at_night(191, 211, 332, 751, 961)])
def test_words_that_wait_in_the_first_columns_only(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Columns further in the east prove the cycles; without them there is no proof."""
    program, profile = passing_program(seed), profile_of(seed)
    assert is_proved(program, profile)
    monkeypatch.setattr(line_shifts, "SETTLED_WIDTHS", ())
    with pytest.raises(NotCovered, match="wait"):
        cycles_by_columns(program, profile)


@pytest.mark.parametrize("seed", [35, 50, *at_night(79, 134, 194, 218)])
def test_columns_that_do_as_no_other_one(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """They run alone, with the words that pass; else there is no proof."""
    program, profile = passing_program(seed), profile_of(seed)
    assert is_proved(program, profile)
    monkeypatch.setattr(line_shifts, "MOST_ALONE", 0)
    with pytest.raises(NotCovered, match="too few columns"):
        cycles_by_columns(program, profile)
