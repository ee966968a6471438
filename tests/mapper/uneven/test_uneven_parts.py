"""The parts of the uneven search, each beside a slow and obvious twin."""

from __future__ import annotations

import random
from itertools import islice, product
from math import inf, prod
from operator import ge

import numpy as np
import pytest
from uneven_cases import uneven_space

from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.uneven.completion_bound import SlotPosition
from tilewright.mapper.searches.uneven.costs.tile_candidates import (
    TailSlot,
    can_finish_open,
    candidates,
    quotient_steps,
)
from tilewright.mapper.searches.uneven.costs.tile_chains import CountKind, TileChains
from tilewright.mapper.searches.uneven.costs.tile_grid_bound import range_min, tile_classes
from tilewright.mapper.searches.uneven.full_utilization import with_most_lanes
from tilewright.mapper.searches.uneven.partial_mappings import PartialMappings, undominated
from tilewright.mapper.searches.uneven.search_parts import classes_of, whole_parts, widest
from tilewright.mapper.searches.uneven.slot_walk import Pruning
from tilewright.mapper.searches.uneven.uneven_search import UnevenRun
from tilewright.mapper.searches.verify import Verifier
from tilewright.mapper.templates.slots import Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops, divisors
from tilewright.mapper.workload.errors import InfeasibleMapping

LANE = ("PE", "x")


def pieces(size: int, tile: int) -> list[int]:
    whole, rest = divmod(size, tile)
    return [tile] * whole + [rest] * (rest > 0)


def visited(sizes: list[int], loops: list[tuple[int, bool]], kind: CountKind) -> list[int]:
    """Walk loops (tile, spatial) over every tile there is; the twin of Chains."""
    for tile, spatial in loops:
        largest = kind.takes_largest(LANE if spatial else None)
        cut = [pieces(size, tile) for size in sizes]
        sizes = [one for parts in cut for one in (parts[:1] if largest else parts)]
    return sizes


def random_loops(rng: random.Random, bound: int) -> list[tuple[int, bool]]:
    loops, tile, open_ = [], bound, True
    dealt = False
    while tile > 1:
        even = divisors(tile)[:-1]
        odd = [t for t in range(2, tile) if tile % t] if open_ else []
        below = rng.choice([*even, *odd])
        open_ = open_ and tile % below == 0
        spatial = not dealt and rng.random() < 0.4
        dealt |= spatial
        loops.append((below, spatial))
        tile = below
    return loops


def test_states_count_the_tiles_that_a_walk_visits() -> None:
    rng = random.Random(1)
    kinds = [CountKind(), CountKind(False, (LANE,)), CountKind(True), CountKind(True, (LANE,))]
    free = (TailSlot("all"),)
    for _ in range(300):
        bound = rng.randrange(2, 40)
        chains = TileChains(bound, divisors(bound), kinds)
        state, loops = chains.start, random_loops(rng, bound)
        for number, (tile, spatial) in enumerate(loops, 1):
            states, _ = chains.below(state, free, LANE if spatial else None, (1, bound))
            state = next(s for s in states.tolist() if chains.tile(s) == tile)
            for kind in kinds:
                column, sizes = chains.column(kind), visited([bound], loops[:number], kind)
                assert column.count[state] == len(sizes)
                assert column.extent[state] == sum(sizes)


@pytest.mark.parametrize("count", [1, 2, 7, 63, 64, 65, 197, 1000, 4097])
def test_quotient_steps_are_the_smallest_of_each_quotient(count: int) -> None:
    least: dict[int, int] = {}
    for step in range(1, count + 1):
        least.setdefault(-(-count // step), step)
    assert quotient_steps(count) == sorted(least.values())


def test_candidates_of_lanes_are_their_multiples() -> None:
    tail = (TailSlot("lanes", 3), TailSlot("lanes", 2))
    assert np.flatnonzero(candidates(11, tail)).tolist() == [1, 2, 3, 4, 6]
    assert np.flatnonzero(candidates(5, ())).tolist() == [1]
    assert candidates(9, (TailSlot("all"),)).sum() == 9


def test_thin_candidates_keep_every_number_of_tiles() -> None:
    for whole in (7, 12, 30, 197):
        kept = np.flatnonzero(candidates(whole, (TailSlot("thin"), TailSlot("thin"))))
        every = {-(-whole // tile) for tile in range(1, whole + 1)}
        assert {-(-whole // tile) for tile in kept.tolist()} == every


def test_what_an_open_tile_can_finish() -> None:
    lanes = (TailSlot("lanes", 4),)
    assert not can_finish_open(7, lanes)  # 7 tiles of 1 need 7 lanes
    assert can_finish_open(4, lanes)
    two = (TailSlot("lanes", 4), TailSlot("lanes", 2))
    assert can_finish_open(7, two)  # 4 lanes of 2, of 2 lanes each
    assert not can_finish_open(9, two)
    full = (TailSlot("all"), TailSlot("lanes", 4, 4))
    assert can_finish_open(7, full)  # tiles of 4
    assert not can_finish_open(3, full)
    assert np.flatnonzero(candidates(9, full)).tolist() == [4, 8]


@pytest.mark.parametrize("merge", [1, 2, 5])
def test_classes_cover_all_tiles_with_their_fewest_visits(merge: int) -> None:
    for bound in (1, 2, 7, 24, 97):
        axis = tile_classes(bound, True, merge)
        for tile in range(1, bound + 1):
            place = int(axis.of_tile[tile])
            assert axis.smallest[place] <= tile <= axis.largest[place]
            assert axis.fewest[place] <= -(-bound // tile)
        assert axis.largest[0] == 1  # the Compute's tile is alone
        assert np.flatnonzero(tile_classes(bound, False, 1).of_tile >= 0).tolist() == list(
            divisors(bound)
        )


def test_range_min_equals_slices() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        size = int(rng.integers(1, 40))
        values = rng.random((size, 3))
        low, high = rng.integers(0, size, size), rng.integers(0, size + 1, size)
        found = range_min(values, low, high)
        for place in range(size):
            part = values[low[place] : high[place]]
            least = part.min(axis=0) if len(part) else np.full(3, inf)
            assert (found[place] == least).all()


def test_undominated_equals_a_comparison_of_all_pairs() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        count = int(rng.integers(1, 60))
        states = rng.integers(0, 3, (count, 2))
        fields = rng.integers(0, 4, (count, 3)).astype(float)
        kept = undominated(PartialMappings(states, fields, np.arange(count)), (0, 2))
        best = {(*states[i], fields[i, 0], fields[i, 2]) for i in kept.tolist()}
        assert len(best) == len(kept)
        for i in range(count):
            row = (*states[i], fields[i, 0], fields[i, 2])
            beaten = any(
                (states[i] == states[j]).all()
                and (fields[j, [0, 2]] <= fields[i, [0, 2]]).all()
                and (fields[j, [0, 2]] != fields[i, [0, 2]]).any()
                for j in range(count)
            )
            assert (row in best) is not beaten


def test_the_outlook_is_below_every_mapping_of_its_template() -> None:
    compared = 0
    for seed in (1, 3, 7, 9, 12, 21):
        space = uneven_space(seed, small=True)
        run = UnevenRun(space, Goal("energy"), UNLIMITED)
        run.rank()
        if run.ranking.metrics.steady_watts:
            continue
        judge = Verifier(space)
        least = min((energy for _, energy, _ in run.ranking.ranked), default=inf)
        for mapping in islice(space, 100):
            assert judge.costed(mapping).energy >= least * (1 - 1e-12)
            compared += 1
    assert compared > 100


def test_classes_of_lanes_have_every_choice_once() -> None:
    split = 0
    for seed in range(12):
        problem = uneven_space(seed).problem
        for part in whole_parts(problem, islice(uneven_space(seed).templates, 5)):
            classes = [part]
            for number in range(3):
                classes = [one for few in classes for one in classes_of(few, number)]
            chosen = [list(product(*map(choices_of, one.slots))) for one in classes]
            every = list(product(*map(choices_of, part.slots)))
            assert sorted(one for few in chosen for one in few) == sorted(every)
            split += len(classes) > 1
    assert split > 10


def test_steps_are_bounded_by_the_choices_with_the_most_lanes() -> None:
    """A choice is left out only if some that stays has no fewer lanes over any variable."""
    rng = random.Random(3)
    for _ in range(50):
        every = list(product(range(1, 5), range(1, 4), (1, 2, 6)))
        some = rng.sample(every, rng.randrange(1, len(every)))
        for choices in (some, [c for c in every if prod(c) <= rng.randrange(1, 12)] or some):
            kept = widest(choices)
            assert set(kept) <= set(choices)
            for choice in choices:
                assert any(all(map(ge, one, choice)) for one in kept), (choice, kept)


def test_the_part_with_the_most_lanes_is_one() -> None:
    """Some mapping of it is in the mapspace, and no choice of lanes there has more of them."""
    compared = 0
    for seed in range(20):
        space = uneven_space(seed)
        busy = with_most_lanes(space)
        if busy is None:
            continue
        try:
            assert space.contains(busy.sample(random.Random(seed))) is None
        except InfeasibleMapping:
            continue
        compared += 1
        fans = (
            space.problem.spatial_loops(space.templates[0]),
            busy.problem.spatial_loops(busy.templates[0]),
        )
        for free, full in zip(*fans, strict=True):
            assert set(full.choices) <= set(free.choices)
    assert compared >= 3


def choices_of(slot: Slot) -> tuple[object, ...]:
    return slot.choices if isinstance(slot, SpatialLoops) else (None,)


def test_no_partial_mapping_promises_less_than_it_comes_to() -> None:
    """The bounds of energy and steps at every slot, along all mappings that arrive."""
    compared = 0
    for seed in (1, 3, 7, 12, 21):
        run = UnevenRun(uneven_space(seed, small=True), Goal("edp"), UNLIMITED)
        run.rank()
        run.ranking.split(inf, UNLIMITED)
        mode = run.ranking.prepared(True)
        for _, _, number in run.ranking.ranked[:20]:
            plan, outlook = mode.plans[number], run.ranking.remaining_energy(number)
            pruning = Pruning(lambda energy, *_: np.ones(len(energy), bool), (0,))
            path = mode.walk.run(plan, outlook, run.ranking.compute_energy, pruning)
            energy = path[-1].fields[:, 0]
            steps = mode.walk.steps(plan, path[-1].states)
            label = np.arange(len(energy))
            for index in range(len(path) - 1, -1, -1):
                labels, moment = (
                    path[index].take(label),
                    SlotPosition.at(index, len(run.ranking.grid.axes)),
                )
                shares = mode.walk.completion_bounds(plan).shares(labels.states, moment)
                ahead = outlook.charged[index].reshape(-1)[shares.grid_index]
                assert (labels.fields[:, 0] + ahead <= energy * (1 + 1e-12)).all()
                least = mode.walk.completion_bounds(plan).fewest_steps(shares, moment)
                assert (least <= steps * (1 + 1e-12)).all()
                label = labels.origin
            compared += len(energy)
    assert compared > 100
