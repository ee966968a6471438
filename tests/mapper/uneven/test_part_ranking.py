"""The parts of a mapspace by their lower bounds."""

from __future__ import annotations

from itertools import islice
from math import inf

from uneven_cases import uneven_space

from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.uneven.part_ranking import FEW_TEMPLATES, PartRanking


def test_parts_come_in_the_order_of_their_bounds() -> None:
    for seed in range(4):
        ranking = PartRanking(uneven_space(seed), Goal("edp"))
        ranking.rank(UNLIMITED)
        values = [value for value, _, _ in ranking.ranked]
        assert values == sorted(values)
        assert inf not in values
        assert ranking.templates >= len(values)


def test_no_mapping_is_below_the_least_bound_also_after_a_split() -> None:
    compared = 0
    for seed in (1, 3, 7, 12):
        room = uneven_space(seed, small=True)
        ranking = PartRanking(room, Goal("energy"))
        ranking.rank(UNLIMITED)
        before = min((energy for _, energy, _ in ranking.ranked), default=inf)
        ranking.split(inf, UNLIMITED)
        after = min((energy for _, energy, _ in ranking.ranked), default=inf)
        assert after >= before * (1 - 1e-12)
        scorer = MappingScorer(room)
        for mapping in islice(room, 60):
            energy = scorer.costed(mapping).energy / room.einsum.n_instances
            assert energy >= after * (1 - 1e-12)
            compared += 1
    assert compared > 50


def test_the_first_templates_are_ranked_without_bounds() -> None:
    ranking = PartRanking(uneven_space(1), Goal("energy"))
    ranking.rank_first_templates()
    assert 0 < ranking.templates <= FEW_TEMPLATES
    assert all(pair[:2] == (0.0, 0.0) for pair in ranking.ranked)
