"""The exact search against brute force: every loop in every gap, scored by the model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from array_cases import array_space_of, half_places_space_of, loose_space_of
from best_of_listed import SECOND, check_best
from bound_cases import bound_space_of
from explore import at_night, enough
from memo import stored_figures
from network_cases import network_space_of
from padded_cases import padded_grid_space_of, padded_space_of
from search_cases import of_brute_force, space_of
from tight_cases import tight_space_of

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.methods.exhaustive import ExhaustiveSearch
from tilewright.mapper.searches.methods.relaxed_min_usage import search_with_lowered_min_usage

SMALL = (0, 1, 2, 3, 5, 6, 9, 11, 13, 15, 21, 36, 41, 44)
TIGHT = (22, 30, 33, 38, 39, 43, 47, 48, 50, 56, 59, 60, 68)
"""Seeds below 45 and 70 whose mapspaces are small enough for brute force, and of the tight ones,
have runs; to find that out for the others takes longer than to check these."""
BOUND = (0, 3, 4, 14, 20, 23, 25, 27, 29, 34, 38, 43, 44, 54, 57, 59, 65, 66)
LOOP_ABOVE_A_RUN = 1508
"""A tight one whose best mapping has a loop above a run that only its lower holder depends on."""


def check(seed: int, limit: int, make: Callable[[int], Mapspace] = space_of) -> bool:
    """Compare the three searches on one mapspace; False if it is too large for brute force."""
    space = make(seed)
    candidates = stored_figures(of_brute_force, make, seed, limit)
    if candidates is None:
        return False
    for objective, second in SECOND.items():
        result = ExactSearch().find(space, Goal(objective), None)
        relaxed = result.best is None
        if relaxed:  # min_usage beyond what the other rules allow
            result = (
                search_with_lowered_min_usage(ExactSearch(), space, Goal(objective), None) or result
            )
        found = check_best(space, objective, candidates, result, second=second)
        assert found is None or relaxed or space.contains(found.mapping) is None
    return True


@pytest.mark.row("001.30", "001.31")
@pytest.mark.parametrize("seed", SMALL)
def test_search_equals_brute_force(seed: int) -> None:
    assert check(seed, limit=1500)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(30))
def test_search_equals_brute_force_on_many(block: int) -> None:
    done = [seed for seed in range(1000 + block * 20, 1020 + block * 20) if check(seed, limit=4000)]
    assert enough(len(done), 3)


def test_runs_of_holders_equal_brute_force() -> None:
    """By default tiles stream past holders of deeper memories, and windows slide together."""
    for seed in (*TIGHT[::3], LOOP_ABOVE_A_RUN):
        assert any(template.adjacent for template in tight_space_of(seed).templates)
        assert check(seed, 1500, tight_space_of)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(30))
def test_runs_of_holders_equal_brute_force_on_many(block: int) -> None:
    seeds = range(1000 + block * 20, 1020 + block * 20)
    assert enough(sum(check(seed, 3000, tight_space_of) for seed in seeds), 4)


def test_bounds_of_lanes_equal_brute_force() -> None:
    """Every operator, of each loop or of their product; a bound may leave no mapping at all."""
    said = set()
    for seed in BOUND:
        assert check(seed, 1000, bound_space_of)
        components = bound_space_of(seed).problem.components
        said |= {b.operator for c in components for dim in c.spatial for b in dim.loop_bounds}
    assert said > {"==", ">=", ">", "product==", "product>=", "product<="}


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_bounds_of_lanes_equal_brute_force_on_many(block: int) -> None:
    seeds = range(1000 + block * 40, 1040 + block * 40)
    assert enough(sum(check(seed, 3000, bound_space_of) for seed in seeds), 10)


def test_networks_equal_brute_force() -> None:
    """Hops count the loops above the lanes, links the rounds: all gaps of the mapspace are open."""
    assert sum(check(seed, 600, network_space_of) for seed in range(12)) >= 2


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(15))
def test_networks_equal_brute_force_on_many(block: int) -> None:
    seeds = range(1000 + block * 20, 1020 + block * 20)
    assert enough(sum(check(seed, 2500, network_space_of) for seed in seeds), 3)


def test_zeros_of_padded_ranks_equal_brute_force() -> None:
    """What is read of a padded tensor depends on the places of tiles, not on their size alone."""
    assert all(check(seed, 900, padded_space_of) for seed in (15, 27, 29))


def test_networks_and_grids_with_padded_ranks_equal_brute_force() -> None:
    """A network carries whole windows; time below a fanout counts them whole, too."""
    assert all(check(seed, 700, padded_grid_space_of) for seed in (1, 2, 15))


@pytest.mark.nightly
@pytest.mark.parametrize("make", [padded_space_of, padded_grid_space_of])
@pytest.mark.parametrize("block", range(15))
def test_zeros_of_padded_ranks_equal_brute_force_on_many(
    block: int, make: Callable[[int], Mapspace]
) -> None:
    seeds = range(1000 + block * 20, 1020 + block * 20)
    assert enough(sum(check(seed, 2500, make) for seed in seeds), 2)


def test_distributed_memories_equal_brute_force() -> None:
    """Room and time of a memory of an Array depend on the lanes of its grid."""
    assert sum(check(seed, 600, array_space_of) for seed in range(12)) >= 3


@pytest.mark.parametrize("size", [3, 4, 6])
def test_a_dimension_with_one_place_counts_where_half_places_do(size: int) -> None:
    assert check(size, 20000, half_places_space_of)


def test_hierarchies_out_of_order_equal_brute_force() -> None:
    """Holders of an outer memory stand below lanes of an inner one, too."""
    assert sum(check(seed, 600, loose_space_of) for seed in (*range(20), 1012)) >= 3


@pytest.mark.nightly
@pytest.mark.parametrize("make", [array_space_of, loose_space_of])
@pytest.mark.parametrize("block", range(15))
def test_arrays_and_open_hierarchies_equal_brute_force_on_many(
    block: int, make: Callable[[int], Mapspace]
) -> None:
    seeds = range(1000 + block * 20, 1020 + block * 20)
    assert enough(sum(check(seed, 3000, make) for seed in seeds), 3)


@pytest.mark.parametrize("seed", [3, 27, *at_night(11, 40)])
def test_canonical_mapspace_holds_an_optimum(seed: int) -> None:
    space = space_of(seed)
    if space.size.points > 4000:
        space = space_of(seed + 100)
    exact = ExactSearch().find(space, Goal("energy"), None)
    listed = ExhaustiveSearch().find(space, Goal("energy"), 20.0)
    assert listed.proven
    assert (exact.best is None) == (listed.best is None)
    if exact.best is not None and listed.best is not None:
        assert exact.best.energy == pytest.approx(listed.best.energy, rel=1e-9)
