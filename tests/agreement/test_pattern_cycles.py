"""Cycles from a small grid of the same pattern, beside the engines on the whole grid."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.oracles.grid_mappings import einsum_on_grid

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.examples.gemv import gemv_like, wse2_cycles
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.affine_times import START, WORDS, AffineTimes, guess_times
from tilewright.simulator.quotient.pattern_cycles import cycles_by_cut, pattern_cycles
from tilewright.simulator.quotient.pattern_proof import prove
from tilewright.simulator.quotient.shrink import GridCut, canonical_lines, cut_grid
from tilewright.simulator.quotient.small_times import matching, small_times
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")
FORMS = (
    ("Z[m] = A[m, k] * B[k]", "A"),
    ("Z[m] = A[m, k] * B[k]", "Nothing"),
    ("Z[m, n] = A[m, k] * B[k, n]", "A|B"),
    ("Z[m, n] = A[m, n] + B[n]", "A"),
    ("Z[m] = A[m, k]", "A"),
)
"""An Einsum, and the tensors that are in the elements before the run."""


def mapped_programs(seed: int, count: int) -> Iterator[Program]:
    """Yield programs of random mappings that a small grid may stand for."""
    rng = random.Random(seed)
    while count:
        form, size = rng.randrange(len(FORMS)), rng.choice([(20, 30), (30, 5), (6, 32)])
        flat, space, families = mapspace(form, *size)
        choice = rng.choice(space.members(rng.choice(families)))
        read = space_time(flat, space.einsum, space.mapping_of(choice))
        try:
            program = program_of(plan_of(read))
        except (InfeasibleMapping, ProgramError):
            continue
        if 2 * cut_grid(program, 2).elements < program.placement.size:
            yield program
            count -= 1


@cache
def mapspace(form: int, rows: int, columns: int) -> tuple[FlatArch, GridMapspace, list[GridFamily]]:
    einsum_text, kept = FORMS[form]
    sizes = {"M": 4 * rows, "N": columns, "K": 4 * columns}
    flat, einsum = einsum_on_grid(einsum_text, sizes, (columns, rows), kept)
    space = GridMapspace(grid_of(flat), einsum, GridConstraints(reduction="chain"))
    return flat, space, list(space.families())


def cycles_of(program: Program) -> int:
    edges = {port.name: np.ones((port.positions, port.count)) for port in program.edge_inputs}
    return Machine(program, WSE2).run(edges=edges).cycles


def proved(programs: Iterable[Program]) -> Iterator[tuple[Program, GridCut, AffineTimes]]:
    """Yield the programs whose times follow from a small grid, with the guess of these times."""
    for program in programs:
        cut = cut_grid(program, 2)
        try:
            guess = guess_times(program, WSE2, cut)
            prove(guess)
        except (NotCovered, ProgramError):
            continue
        yield program, cut, guess


def compare(seed: int, count: int) -> int:
    """Compare the cycles of random programs; return how many were proved."""
    number = 0
    for program, cut, guess in proved(mapped_programs(seed, count)):
        assert cycles_by_cut(program, WSE2, cut) == cycles_of(program), str(program)
        check_units(program, cut, guess)
        number += 1
    return number


def test_random_mappings() -> None:
    assert compare(seed=4, count=2) >= 1


@pytest.mark.nightly
@pytest.mark.random
@pytest.mark.parametrize("seed", range(2, 12))
def test_more_random_mappings(seed: int) -> None:
    assert compare(seed, count=60) >= 8


@pytest.mark.parametrize(("height", "width"), [(32, 34), (40, 9)])
def test_the_closed_form(height: int, width: int) -> None:
    program = gemv_like(height, width, 64, 2)
    ((_, cut, guess),) = proved([program])
    assert cycles_by_cut(program, WSE2, cut) == wse2_cycles(height, width, 64, 2)
    check_units(program, cut, guess)


def test_a_full_wafer() -> None:
    found = pattern_cycles(gemv_like(750, 994, 256, 4), WSE2)
    assert found.cycles == wse2_cycles(750, 994, 256, 4) == 13335
    assert found.elements <= 256


def test_results_that_columns_of_many_elements_gather_take_many_evaluations() -> None:
    """Each of 128 elements in a column waits for space behind it, again and again."""
    sizes = {"M": 8 * 128, "N": 8 * 34}
    flat, einsum = einsum_on_grid("Z[m, n] = A[m, n] + B[m, n]", sizes, (34, 128), "A | B")
    wanted = GridConstraints(x="n", y="m", tile="none", buffers=1, weights="resident")
    space = GridMapspace(grid_of(flat), einsum, wanted)
    choice = space.members(next(space.families()))[0]
    program = program_of(plan_of(space_time(flat, space.einsum, space.mapping_of(choice))))
    assert pattern_cycles(program, WSE2).cycles == Machine(program, WSE2).cycles()


def test_a_check_has_more_space_than_the_solution() -> None:
    """Sums of 20 words in two phases: some need more segments where all times are known."""
    sizes = {"M": 40 * 16, "K": 32 * 128}
    flat, einsum = einsum_on_grid(FORMS[0][0], sizes, (16, 128), "A", bits=16)
    wanted = GridConstraints(x="m", y="k", reduction="two_phase(16)", tile="none", buffers=1)
    space = GridMapspace(grid_of(flat), einsum, wanted)
    family = next(f for f in space.families() if f.resident and f.scalar == "B")
    read = space_time(flat, space.einsum, space.mapping_of(space.members(family)[0]))
    program = program_of(plan_of(read))
    assert cycles_by_cut(program, WSE2, cut_grid(program, 2)) == 732
    assert FastMachine(program, WSE2).cycles == 732


def check_units(program: Program, cut: GridCut, guess: AffineTimes) -> None:
    """Check that every unit of the whole grid has the time of its class at its place."""
    whole = small_times(program, WSE2)
    place, offset = whole.places.copy(), np.zeros((whole.places.shape[0], 2), dtype=np.int64)
    for axis, lines in enumerate(cut.axes):
        small, period = place_of_lines(program.placement.shape[axis], lines)
        offset[:, axis] = period[whole.places[:, axis]]
        place[:, axis] = small[whole.places[:, axis]]
    units = matching(guess.small.places, place)
    times = guess.base[units] + (guess.slope[units] * offset[:, :, None]).sum(axis=1)
    assert np.array_equal(times[:, WORDS], whole.timed.times.first)
    assert np.array_equal(times[:, START], whole.timed.times.start)


def place_of_lines(count: int, lines) -> tuple[np.ndarray, np.ndarray]:
    """Return for each line of the whole grid its line in the small one, and its period."""
    small, period = np.full(count, -1), np.zeros(count, dtype=np.int64)
    small[lines.numbers] = np.arange(lines.numbers.size)
    for block in lines.blocks:
        first = lines.numbers[block.start]
        for number in range(block.times * block.period):
            small[first + number] = block.start + number % block.period
            period[first + number] = number // block.period
    return small, period


@pytest.mark.parametrize("change", ["base", "slope"])
def test_a_wrong_guess_is_refused(change: str) -> None:
    ((_, cut, guess),) = proved([gemv_like(31, 33, 12, 2)])
    place = guess.small.places.copy()
    for axis, lines in enumerate(cut.axes):
        place[:, axis] = canonical_lines(lines)[place[:, axis]]
    refused = 0
    for unit in range(0, guess.base.shape[0], 23):
        copies = (place == place[unit]).all(axis=1)
        wrong = replace(guess, base=guess.base.copy(), slope=guess.slope.copy())
        if change == "base":
            wrong.base[copies, WORDS] += 1
        elif (guess.slope[unit, :, WORDS] == 0).all():
            continue
        else:
            wrong.slope[copies, guess.slope[unit, :, WORDS].argmax(), WORDS] += 1
        with pytest.raises(NotCovered):
            prove(wrong)
        refused += 1
    assert refused > 5


def test_too_small_a_grid_is_left_to_the_engines() -> None:
    found = pattern_cycles(gemv_like(8, 8, 12, 2), WSE2)
    assert found.cycles is None
    assert found.reason == "too few lines of the grid repeat"
