"""Find a good fused mapping fast: grow fusion groups, one exchanged tensor after the other.

It first tries to keep all exchanged tensors on chip. Else it starts from nothing on chip: each
Einsum is a fusion group of its own. For each exchanged tensor, that which may save most first, it
asks what the Einsums of the groups between its users cost at least with that tensor on chip, too.
If that is less than what they cost now, only these Einsums are joined with just these tensors on
chip. Each Einsum may then cost its least and a little more, so that the tables are small, then more
if there is much to gain. What is better becomes one group. Groups that pose the same problem under
other names are searched once.

Example: attention keeps its probabilities on chip, then its scores, then none of its projections.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.bounds.cost_limit import CostLimit
from tilewright.mapper.fusion.bounds.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.bounds.on_chip_relaxation import Places
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.groups.fusion_groups import (
    EqualParts,
    FusionGroup,
    JoinedMapping,
    PartLimits,
    is_divisible,
    joined,
)
from tilewright.mapper.fusion.pmappings.on_chip_choice import OnChipChoice
from tilewright.mapper.fusion.pmappings.pmapping_builder import NOISE
from tilewright.mapper.searches.budget import EndReason, OutOfBudget

ROUNDS = 2  # in which tensors that did not help are tried once more
SPARES = (0.001, 0.01, 0.05)  # of what the Einsums cost before
ALL_ABOVE = 0.2  # what an Einsum with all tensors on chip may cost above what is known, relative
WORTH = 1e-6  # relative: what a tensor must save at least to be tried
DIGITS = 9  # of a cost by which equal groups are recognized


class _NeighbouringEinsums(NamedTuple):
    """Einsums of a part of the workload, one after the other.

    `first`: number of the first one. `masks`: per Einsum its tensors on chip, a bit each. `cost`:
    of their best known mapping, joule or second; inf: none is known.
    """

    first: int
    masks: tuple[int, ...]
    cost: float


class GreedyStart:
    """Choose the tensors on chip, all at once or one by one.

    `problem`: the workload. `bounds`: what each Einsum costs at least with which tensors on chip.
    `join`: looks for a mapping of neighbouring Einsums within limits. `take`: is told each better
    mapping of the workload. Costs are in joule, or second if latency is the objective.
    """

    def __init__(
        self,
        problem: FusedProblem,
        bounds: EinsumBounds,
        join: Callable[[PartLimits], JoinedMapping | None],
        take: Callable[[JoinedMapping], None],
    ) -> None:
        self._problem = problem
        self._bounds = bounds
        self._join = join
        self._take = take
        exchanged = problem.exchanged
        self._users = exchanged.users
        self._boundaries = [exchanged.places_of_einsum(e) for e in exchanged.workload.einsums]
        places = (place for boundary in self._boundaries for place in boundary)
        self._places = [p for p in dict.fromkeys(places) if p.tensor not in exchanged.used_outside]
        self._groups: list[FusionGroup] = []
        self._equal_parts = EqualParts(problem)
        # of parts searched before: what each Einsum costs; None: nothing better was found
        self._searched: dict[Hashable, list[float] | None] = {}

    def run(self) -> bool:
        """Try all tensors on chip at once, else one by one, and those that did not help once more.

        Tell whether all at once gave a mapping. Raises OutOfBudget when the time or the memory of
        the budget ends; where a tensor alone needs too many partial mappings, it is left out.
        """
        if self._problem.counts_capacity:
            self._start_unfused()
        if self._keeps_everything():
            return True
        if not self._groups:
            self._start_unfused()
        for _ in range(ROUNDS if self._groups else 0):
            before = len(self._groups), self._masks
            for place in self._ranked_places():
                self._add(place)
            if (len(self._groups), self._masks) == before:
                break
        return False

    @property
    def _masks(self) -> list[int]:
        """The tensors on chip of each Einsum in the best known mapping, as bits of its boundary."""
        return [mask for group in self._groups for mask in group.masks]

    def _start_unfused(self) -> None:
        """Map all Einsums with nothing on chip, each a group of its own.

        They are one group where parts of the workload cannot be searched apart. No group at all if
        an Einsum has no mapping.
        """
        count = len(self._boundaries)
        size = 1 if is_divisible(self._problem) else count
        groups: list[FusionGroup] = []
        for first in range(0, count, size):
            group = self._better(_NeighbouringEinsums(first, (0,) * size, inf), fused=False)
            if group is None:
                return
            groups.append(group)
        self._set_groups(groups)

    def _keeps_everything(self) -> bool:
        """Look for a mapping with every exchanged tensor on chip; tell if it is better."""
        first: dict[str, TensorPlace] = {}
        for place in self._places:
            first.setdefault(place.tensor, place)
        masks = tuple(
            sum(self._bit(number, place) for place in first.values())
            for number in range(len(self._boundaries))
        )
        part = _NeighbouringEinsums(0, masks, self._cost_of(self._groups))
        group = self._better(part, ALL_ABOVE if self._groups else inf)
        if group is not None:
            self._set_groups([group])
        return group is not None

    def _ranked_places(self) -> list[TensorPlace]:
        """Return (tensor, memory) pairs of tensors off chip, those that may save most first."""
        masks = self._masks
        pairs = list(zip(masks, self._boundaries, strict=True))
        on_chip = {
            place.tensor
            for mask, boundary in pairs
            for i, place in enumerate(boundary)
            if mask >> i & 1
        }
        free = [place for place in self._places if place.tensor not in on_chip]
        costs = [sum(self._extra_costs(masks, place)) for place in free]
        return [free[number] for number in np.argsort(costs, kind="stable").tolist()]

    def _extra_costs(self, masks: Sequence[int], place: TensorPlace) -> Iterator[float]:
        """Yield, per user of a tensor, how much its lower bound rises with the tensor at `place`.

        Negative where that saves. `masks`: per Einsum, its tensors on chip now.
        """
        for user in self._users[place.tensor]:
            known = self._bounds.known_least(user, masks[user])
            kept = self._bounds.known_least(user, masks[user] | self._bit(user, place))
            yield kept - known if known < inf else inf

    def _bit(self, number: int, place: TensorPlace) -> int:
        """Return the bit of a place in the boundary of an Einsum, 0 if it is not there."""
        boundary = self._boundaries[number]
        return 1 << boundary.index(place) if place in boundary else 0

    def _add(self, place: TensorPlace) -> None:
        """Keep one more tensor on chip if a cheaper mapping results.

        The groups from its first to its last user are searched as one group, which then replaces
        them.
        """
        users = self._users[place.tensor]
        old = [g for g in self._groups if g.first <= users[-1] and users[0] < g.end]
        first, masks = old[0].first, [mask for group in old for mask in group.masks]
        bits = [self._bit(first + number, place) for number in range(len(masks))]
        new_masks = tuple(mask | bit for mask, bit in zip(masks, bits, strict=True))
        group = self._better(_NeighbouringEinsums(first, new_masks, self._cost_of(old)))
        if group is not None:
            begin = self._groups.index(old[0])
            groups = self._groups.copy()
            groups[begin : begin + len(old)] = [group]
            self._set_groups(groups)

    def _set_groups(self, groups: list[FusionGroup]) -> None:
        self._groups = groups
        self._take(joined([group.mapping for group in groups]))

    def _cost_of(self, groups: Sequence[FusionGroup]) -> float:
        metric = self._bounds.metric
        return sum(g.mapping.label.measures[metric] for g in groups) if groups else inf

    def _better(
        self, part: _NeighbouringEinsums, most_above: float = inf, fused: bool = True
    ) -> FusionGroup | None:
        """Look for a mapping of a part with just these tensors on chip that costs less than known.

        `most_above`: by how much an Einsum's least cost may exceed its bound known before,
        relative; else the part is given up. `fused`: with shared loops. None if there is no better
        mapping.
        """
        end = part.first + len(part.masks)
        cost = float(f"{part.cost:.{DIGITS}g}")
        key = self._equal_parts.key(part.first, end), part.masks, cost
        if key in self._searched:
            costs = self._searched[key]
            mapping = None if costs is None else self._searched_again(part, costs, fused)
            if costs is None or mapping is not None:
                return mapping and FusionGroup(part.first, part.masks, mapping)
        mapping = self._searched_first(part, most_above, fused)
        self._searched[key] = mapping and mapping.costs_of_einsums(self._bounds.metric)
        return mapping and FusionGroup(part.first, part.masks, mapping)

    def _searched_again(
        self, part: _NeighbouringEinsums, costs: Sequence[float], fused: bool
    ) -> JoinedMapping | None:
        """Join the Einsums of a part that is equal to one searched before.

        None if they do not join. `costs`: of the Einsums in that one; they are the limits here.
        `fused`: as in PartLimits.
        """
        most, least = ([cost * share for cost in costs] for share in (1 + NOISE, 1 - NOISE))
        return self._joined(part, most, least, fused)

    def _joined(
        self,
        part: _NeighbouringEinsums,
        most: Sequence[float],
        least: Sequence[float],
        fused: bool,
    ) -> JoinedMapping | None:
        """Join a part's Einsums, each of at most and at least some cost; None: there is no gain."""
        limits = self._limits(part, most)

        def remaining(number: int, _: Places) -> float:
            return sum(least[number + 1 :])

        return self._join(PartLimits(part.first, limits, remaining, part.cost, fused))

    def _searched_first(
        self, part: _NeighbouringEinsums, most_above: float, fused: bool
    ) -> JoinedMapping | None:
        """Find each Einsum's least cost, then join the part a little above these costs.

        None as soon as the least costs add up to no gain, or an Einsum exceeds its least known cost
        by more than the share `most_above`. `fused`: as in PartLimits.
        """
        known = [self._bounds.known_least(part.first + i, m) for i, m in enumerate(part.masks)]
        start = min(part.cost, sum(known))
        if start == inf:
            return None
        try:
            for i, mask in enumerate(part.masks):
                left = part.cost * (1 - WORTH) - (sum(known) - known[i])
                left = min(left, known[i] * (1 + most_above))
                known[i] = self._bounds.least_below(part.first + i, mask, left)
                if known[i] > left:
                    return None
            return self._with_spares(part, known, start, fused)
        except OutOfBudget as end:
            if end.reason is not EndReason.LABELS:
                raise
        return None

    def _with_spares(
        self, part: _NeighbouringEinsums, least: Sequence[float], start: float, fused: bool
    ) -> JoinedMapping | None:
        """Join the Einsums of a part at rising cost limits, until there is a mapping.

        None if none gains. `least`: least cost per Einsum. A limit is this cost plus a share
        (SPARES) of the cost `start`, but no more than the gain, `part.cost` less all least costs.
        `fused`: as in PartLimits.
        """
        gain = part.cost - sum(least)
        for share in SPARES:
            spare = share * start
            if spare >= gain and share > SPARES[0]:
                return None
            most = [cost + min(spare, gain) for cost in least]
            if (mapping := self._joined(part, most, least, fused)) is not None:
                return mapping
        return None

    def _limits(
        self, part: _NeighbouringEinsums, costs: Sequence[float]
    ) -> list[dict[OnChipChoice, CostLimit]]:
        """Return, per Einsum of a part, its cost limit by choice with the part's tensors on chip.

        `costs`: the limits, joule or second.
        """
        return [
            {
                choice: self._bounds.limit_of_metric(cost)
                for choice in self._bounds.choices_of(part.first + i, mask)
            }
            for i, (mask, cost) in enumerate(zip(part.masks, costs, strict=True))
        ]
