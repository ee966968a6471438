"""Which labels a walk down a template drops: the dominated ones, and those that cannot win."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from tilewright.mapper.searches.budget import GROWTH, UNLIMITED, Budget, EndReason, OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.uneven.costs.loop_sites import LoopSite, TileOptions
from tilewright.mapper.searches.uneven.costs.remaining_energy import RemainingEnergy
from tilewright.mapper.searches.uneven.partial_mappings import PartialMappings, joined, undominated
from tilewright.mapper.searches.uneven.template_plan import TemplatePlan
from tilewright.mapper.searches.uneven.uneven_remaining_cost import (
    CompletionBounds,
    SlotPosition,
    StepShares,
)

MAX_LABELS = 3_000_000  # that are kept at one slot
LABELS_PER_BEAM = 20  # times the beam: labels that are made to choose a beam from


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which partial mappings (labels) stay during a walk down a template.

    `keep`: from lower bounds of joules and steps, shape (labels,), and bits in use, shape (labels,
    memories), tells which may still win. `leading`: columns of costs in which labels dominate each
    other; `memory_fields`: columns of those bits. `beam`: the most labels kept at a slot (0: all).
    `budget`: the limits. A template is a mapping without its loops; a slot is a place of a
    template for loops, a fill or a reserved tile.
    """

    keep: Callable[[Floats, Floats, Floats], Any]
    leading: tuple[int, ...]
    memory_fields: tuple[int, ...] = ()
    beam: int = 0
    budget: Budget = UNLIMITED


class PrunedWalk:
    """The rules that drop labels during one walk down one plan.

    `plan`: the template. `bounds`: of what is still to come, `remaining`: least energy of it.
    `pruning`: the limits. `label_bytes`: memory of one label.
    """

    def __init__(
        self,
        plan: TemplatePlan,
        bounds: CompletionBounds,
        remaining: RemainingEnergy,
        pruning: Pruning,
        label_bytes: int,
    ) -> None:
        self.plan = plan
        self.bounds = bounds
        self.remaining = remaining
        self._label_bytes = label_bytes
        self._pruning = pruning
        self._rooms = list(pruning.memory_fields)

    def check(self, labels: int) -> None:
        """Raise OutOfBudget if time is used up or so many labels need too much memory."""
        self._pruning.budget.check(more_bytes=GROWTH * labels * self._label_bytes)
        if labels > MAX_LABELS:
            raise OutOfBudget(EndReason.LABELS)

    def promising(
        self, labels: PartialMappings, label_numbers: Ints, shares: StepShares, site: LoopSite
    ) -> Ints:
        """Return the positions in `label_numbers` of labels that may still win; at most a beam.

        `shares`: what bounds them at the `site`, a loop whose tile is being chosen.
        """
        energy = labels.fields[label_numbers, 0] + site.remaining.reshape(-1)[shares.grid_index]
        steps = self.bounds.fewest_steps(shares, site.position)
        used = labels.fields[:, self._rooms][label_numbers]
        rows = np.flatnonzero(self._pruning.keep(energy, steps, used) & (energy < inf))
        most_labels = LABELS_PER_BEAM * self._pruning.beam
        if most_labels and len(rows) > most_labels:
            worth = energy[rows] * steps[rows]
            rows = np.sort(rows[np.argsort(worth, kind="stable")[:most_labels]])
        return rows

    def extended(
        self,
        labels: PartialMappings,
        chosen: Ints,
        options: TileOptions,
        site: LoopSite,
    ) -> tuple[PartialMappings, Ints]:
        """Give each label the tile state that was chosen for it, and drop dominated labels.

        Return the rest with their lanes. `labels`: changed in place; `chosen`: number of each one's
        option, shape (labels,).
        """
        labels.states[:, site.variable] = options.states[chosen]
        if site.dim is not None or len(labels) < 2:
            return labels, options.lanes[chosen]
        best = undominated(labels, self._pruning.leading)
        return labels.take(best), options.lanes[chosen[best]]

    def joined(
        self, label_sets: list[PartialMappings], remaining: Floats, index: int
    ) -> PartialMappings:
        """Join sets of labels, and drop those that labels of other sets dominate.

        `remaining`, `index`: as in `pruned`.
        """
        if len(label_sets) == 1:
            return label_sets[0]
        return self.pruned(joined(label_sets), remaining, index)

    def pruned(self, labels: PartialMappings, remaining: Floats, index: int) -> PartialMappings:
        """Return the undominated labels that may win, where slot `index` comes next.

        `remaining`: least joules still to come, by class of tile.
        """
        self.check(len(labels))
        if not len(labels):
            return labels
        position = SlotPosition.at(index, labels.states.shape[1])
        shares = self.bounds.shares(labels.states, position)
        energy = labels.fields[:, 0] + remaining.reshape(-1)[shares.grid_index]
        steps = self.bounds.fewest_steps(shares, position)
        used = labels.fields[:, self._rooms]
        keep = self._pruning.keep(energy, steps, used) & (energy < inf)
        labels, energy, steps = labels.take(keep), energy[keep], steps[keep]
        if len(labels) > 1:
            rows = undominated(labels, self._pruning.leading)
            if self._pruning.beam and len(rows) > self._pruning.beam:
                order = np.argsort(energy[rows] * steps[rows], kind="stable")
                rows = np.sort(rows[order[: self._pruning.beam]])
            labels = labels.take(rows)
        return labels
