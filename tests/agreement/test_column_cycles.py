"""Cycles from a few columns of a grid, beside the reference engine on the whole grid."""

import random
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
from tilewright.simulator.lowering.border_channels import UNLIMITED
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient import line_shifts
from tilewright.simulator.quotient.line_shifts import cycles_by_columns
from tilewright.simulator.quotient.narrow_run import NarrowRun
from tilewright.simulator.quotient.pattern_cycles import pattern_cycles
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

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
    form: int, rows: int, columns: int, most: int, bits: int = 32, channels: int = UNLIMITED
) -> Iterator[Program]:
    """Yield programs of mappings of a form on a grid, of each family one."""
    einsum_text, kept = FORMS[form]
    sizes = {"M": 2 * max(rows, columns), "N": 2 * columns, "K": 2 * columns}
    flat, einsum = einsum_on_grid(einsum_text, sizes, (columns, rows), kept, bits)
    space = GridMapspace(grid_of(flat), einsum, GridConstraints())
    families = list(space.families())
    for family in families[:: max(1, len(families) // most)]:
        choice = space.members(family)[0]
        read = space_time(flat, space.einsum, space.mapping_of(choice))
        try:
            yield program_of(plan_of(read, channels=channels))
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
    monkeypatch.setattr(*check, lambda *_, **__: True)
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


WAITING = """program waiting 1 x 24
color a
color b
code each
  buffer v f32 [300]
  mem1d first v extent 1
  mem1d rest v extent {words} offset 10
  input_queue 2 a
  input_queue 3 b
  fabin one queue 2 extent 1
  fabin all queue 3 extent {words}
  task main entry
    @fmovs first, one
    @fmovs rest, all
place each [0:1, 0:24]
route a [0:1, 0:23] rx W tx ER
route a [0:1, 23:24] rx W tx R
route b [0:1, 0:24] rx N tx R
edge_input xs side W [0:1] color a f32 count 1 interval 1 start 200
edge_input ys side N [0:24] color b f32 count {words} interval 5
"""


def test_columns_that_wait_for_slow_words_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """All columns then end with the last word, not each some cycles behind the one before."""
    profile = load_profile("wse3-sdk-sim")
    early, late = (parse_program(WAITING.format(words=n), "waiting.txt") for n in (45, 60))
    assert is_proved(early, profile)
    with pytest.raises(NotCovered, match="wait for words from outside"):
        cycles_by_columns(late, profile)
    monkeypatch.setattr(NarrowRun, "waits_outside", lambda *_: False)
    assert cycles_by_columns(late, profile)[0] == whole_cycles(late, profile) + 24


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 24))])
def test_mappings_with_few_channels(part: int) -> None:
    """Slow streams and results, in all proofs by a pattern."""
    rng, looked_at, proved = random.Random(part), 0, 0
    while looked_at < 16:
        form, channels = rng.randrange(len(FORMS)), rng.choice([1, 2, 4, 8, 13])
        rows, columns = rng.choice([(4, 24), (24, 4), (9, 32), (24, 24), (2, 64), (40, 12)])
        programs = mapped_programs(form, rows, columns, most=3, channels=channels)
        for program in programs:
            profile, looked_at = profile_of(looked_at), looked_at + 1
            cycles = pattern_cycles(program, profile).cycles
            proved += cycles is not None
            assert cycles in (None, whole_cycles(program, profile))
    assert proved >= 3 or part > 0  # few of the mappings that are drawn at night
