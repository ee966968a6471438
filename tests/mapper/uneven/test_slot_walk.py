"""The walk of a template: bounds of partial mappings."""

from __future__ import annotations

from math import inf

import numpy as np
from uneven_cases import uneven_space

from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.uneven.label_pruning import Pruning
from tilewright.mapper.searches.uneven.uneven_remaining_cost import SlotPosition
from tilewright.mapper.searches.uneven.uneven_search import UnevenRun


def test_no_partial_mapping_promises_less_than_it_comes_to() -> None:
    """The bounds of energy and steps at every slot, along all mappings that arrive."""
    compared = 0
    for seed in (1, 7, 21):
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
