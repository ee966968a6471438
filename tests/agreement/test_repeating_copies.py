"""Copies that repeat values or slide over them: their search against all mappings."""

from __future__ import annotations

from contextlib import suppress
from math import inf

import pytest
from explore import at_night, enough
from memo import stored_figures
from points import of_points
from repeating_cases import repeating_space_of

from tilewright.mapper.mapping.mapping import Mapping, Storage, TollNode
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.copies.copy_einsums import CopyMappings, CopySearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.methods.exhaustive import best_scored
from tilewright.mapper.workload.errors import InfeasibleMapping

MOST = 1_000_000  # mappings: more than any of them has


@pytest.mark.parametrize("block", [0, *at_night(*range(1, 8))])
def test_as_all_mappings(block: int) -> None:
    """The bound is never above the least, and what counts as proven is the least."""
    proven = 0
    for seed in range(block * 5, block * 5 + 5):
        space = repeating_space_of(seed)
        listed = stored_figures(of_points, repeating_space_of, seed, MOST)
        assert listed is not None
        for goal in (Goal("energy"), Goal("latency"), Goal("edp")):
            found = CopySearch().find(space, goal, None)
            assert (not listed) == (found.best is None), seed
            if found.best is None:
                continue
            value = min(one.value(goal.objective) for one in listed)
            assert found.best.value(goal) == pytest.approx(value, rel=1e-9), (seed, goal)
            copies = CopyMappings(space)
            few, _, _ = best_scored(copies.representatives, space, goal)
            if few is not None:
                bound = copies.lower_bound(few, goal)
                assert bound <= value * (1 + 1e-9), (seed, goal)
                proven += few.value(goal) <= bound * (1 + 1e-9)
    assert enough(proven, 9)


@pytest.mark.parametrize("block", [0, *at_night(1, 2)])
def test_outermost_memories(block: int) -> None:
    """The bound of the mappings that keep a tensor in some memory first is below all of these."""
    tight = 0
    for seed in range(block * 10, block * 10 + 10):
        space = repeating_space_of(seed)
        judge = MappingScorer(space)
        scores: dict[tuple[str, str], list[Score]] = {}
        for mapping in space:
            with suppress(InfeasibleMapping):
                score = judge.score(mapping)
                for place in _outermost(mapping).items():
                    scores.setdefault(place, []).append(score)
        for (tensor, memory), several in scores.items():
            energy, latency = CopyMappings(space, {tensor: memory}).lower_bounds(inf, inf)
            least = min(one.energy for one in several)
            assert energy <= least * (1 + 1e-9), (seed, tensor, memory)
            assert latency <= min(one.latency for one in several) * (1 + 1e-9), (seed, tensor)
            tight += energy >= least * (1 - 1e-9)
    assert enough(tight, 4)


def _outermost(mapping: Mapping) -> dict[str, str]:
    """Return the first memory of each tensor."""
    found: dict[str, str] = {}
    for node in mapping.nodes:
        if isinstance(node, Storage) and not isinstance(node, TollNode):
            found = dict.fromkeys(node.tensors, node.component) | found
    return found
