"""Lower bounds of what each Einsum costs with each choice of tensors on chip, and their limits.

Users of one tensor must agree about it, so that the bounds of several Einsums add up to one of the
workload (theory/fusion.md §6.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.bounds.choice_search import METRICS, ChoiceBound
from tilewright.mapper.fusion.bounds.cost_limit import NEVER, CostLimit, EnergyLatency, with_metric
from tilewright.mapper.fusion.bounds.nothing_passes import einsums_passed_by_nothing
from tilewright.mapper.fusion.bounds.on_chip_relaxation import OnChipRelaxation
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.fused_problem import ChoiceName, FusedProblem
from tilewright.mapper.fusion.groups.windows import WindowBounds
from tilewright.mapper.fusion.join.compatibility_graph import JoinLimits
from tilewright.mapper.fusion.pmappings.on_chip_choice import OnChipChoice
from tilewright.mapper.fusion.pmappings.pmapping_builder import NOISE


class OtherCosts(NamedTuple):
    """The least energy (joule) and latency (second) of all other Einsums, by choice of one Einsum.

    Keys: the choice of tensors on chip as bits.
    """

    energy: Mapping[int, float]
    latency: Mapping[int, float]

    def remaining_limit(self, mask: int, limit: EnergyLatency) -> EnergyLatency:
        """Return what the Einsum may cost with a choice, when the workload may cost `limit`.

        `mask`: the choice as bits. Joule and second; -inf if no choices of the others agree with
        it.
        """
        energy, latency = self.energy[mask], self.latency[mask]
        if inf in (energy, latency):
            return -inf, -inf
        return limit[0] - energy, limit[1] - latency


class ChoiceBounds:
    """Lower bounds of what each Einsum costs with each choice of tensors on chip, as known so far.

    A choice is the set of an Einsum's exchanged tensors that stay on chip. `problem`: the workload
    and the objective; with a few placements only, the numbers are what good mappings cost, and no
    bounds. `bounds`: of each Einsum; none of a copy Einsum. `metric`: that whose bounds are raised,
    0 energy or 1 latency.
    """

    def __init__(self, problem: FusedProblem, bounds: list[list[ChoiceBound]], metric: int) -> None:
        self.metric = metric
        self._copies = [e if isinstance(e, CopyTable) else None for e in problem.einsums]
        self._bounds = bounds
        allowed = [list(costs) for costs in self._costs(0)]
        self._relaxation = OnChipRelaxation(problem.exchanged, allowed)
        self._passed_by_nothing = einsums_passed_by_nothing(problem)
        self.windows: WindowBounds | None = None

    @property
    def least_costs(self) -> EnergyLatency:
        """Lower bounds of the energy and of the latency of the workload.

        Joule and second, each by choices of its own (theory/fusion.md §6.3).
        """
        energy, latency = (self._relaxed(m).least_cost(self._costs(m)) for m in METRICS)
        return energy, latency

    def cost_limits(
        self, limit: EnergyLatency, slack: float = inf
    ) -> list[dict[OnChipChoice, CostLimit]]:
        """Return, per Einsum, what it may cost with each choice of tensors on chip.

        `limit`: most energy in joule and latency in second of the workload. A choice may cost what
        the limit leaves when all other Einsums cost their least with choices that agree; choices
        whose bound is above that are left out (theory/fusion.md §6.2). Nor may it cost more than
        `slack` above its bound, relative, in the metric whose bounds are raised (energy or
        latency); less than inf loses mappings.
        """
        costs_of_others = [self._relaxed(m).costs_of_others(self._costs(m)) for m in METRICS]
        limits: list[dict[OnChipChoice, CostLimit]] = []
        for number, bounds in enumerate(self._bounds):
            energy, latency = (costs[number] for costs in costs_of_others)
            enough = self._enough_unfused(number)
            limits.append({})
            for bound in bounds:
                mask = bound.choice.mask
                own_limit = OtherCosts(energy, latency).remaining_limit(mask, limit)
                if not mask:
                    most = min(own_limit[self.metric], enough)
                    own_limit = with_metric(own_limit, self.metric, most)
                if bound.bound[0] <= own_limit[0] and bound.bound[1] <= own_limit[1]:
                    if slack < inf:
                        most = min(own_limit[self.metric], bound.bound[self.metric] * (1 + slack))
                        own_limit = with_metric(own_limit, self.metric, most)
                    limits[-1][bound.choice] = CostLimit(*own_limit)
        return limits

    def choice_bounds_within(self, limit: EnergyLatency) -> dict[ChoiceName, EnergyLatency]:
        """Return the choices of tensors on chip that a mapping within a limit may make.

        `limit`: joule and second of the workload. Keys are (name of the Einsum, number of its
        compute, tensors on chip as bits, numbers of placements); values are lower bounds of energy
        in joule and latency in second.
        """
        return {
            bound.choice.name: bound.bound
            for bounds, limits in zip(self._bounds, self.cost_limits(limit), strict=True)
            for bound in bounds
            if bound.choice in limits
        }

    def join_limits(self, limit: EnergyLatency) -> JoinLimits:
        """Return what limits the joining of Einsums to mappings within a limit.

        `limit`: joule and second of the workload; a relative 1e-9 is added for rounding. The
        remaining cost that goes with it is inf for a set of tensors on chip with which no choices
        of the later Einsums agree.
        """
        energy, latency = (self._relaxed(m).costs_of_later(self._costs(m)) for m in METRICS)

        def remaining(number: int, on_chip: frozenset[TensorPlace]) -> EnergyLatency:
            state = on_chip & self._relaxation.tracked
            return energy[number].get(state, inf), latency[number].get(state, inf)

        return JoinLimits((limit[0] * (1 + NOISE), limit[1] * (1 + NOISE)), remaining)

    def _relaxed(self, metric: int) -> OnChipRelaxation | WindowBounds:
        """Return what bounds the workload in a metric: windows of Einsums, once there are any."""
        return self.windows if self.windows and metric == self.metric else self._relaxation

    def use_windows(self, ends: Sequence[int]) -> None:
        """Bound windows of neighbouring Einsums, too; `ends`: the first Einsum behind each."""
        self.windows = WindowBounds(self._relaxation, ends)

    @property
    def costs(self) -> list[dict[int, float]]:
        """The bounds per Einsum and choice of tensors on chip, in the metric that is raised."""
        return self._costs(self.metric)

    def limits_below(
        self, first: int, most: Sequence[Mapping[int, float]], searched: bool = False
    ) -> list[dict[OnChipChoice, CostLimit]]:
        """Return what the Einsums from `first` on may cost with choices that are not too costly.

        `most`: per Einsum and choice of tensors on chip as bits, what it may cost, in joule, or
        second if latency is the objective. `searched`: only choices that were searched before.
        """
        result: list[dict[OnChipChoice, CostLimit]] = []
        for number, limits in enumerate(most, first):
            enough = inf if searched else self._enough_unfused(number)
            capped = {mask: cost if mask else min(cost, enough) for mask, cost in limits.items()}
            result.append(
                {
                    bound.choice: self.limit_of_metric(capped[bound.choice.mask])
                    for bound in self._bounds[number]
                    if bound.bound[self.metric] <= capped.get(bound.choice.mask, -inf)
                    and (bound.start is not None or not searched)
                }
            )
        return result

    def _enough_unfused(self, number: int) -> float:
        """Return the most that an Einsum with nothing on chip need cost: its cheapest mapping.

        Joule, or second if latency is the objective. inf if that cost is not known, or if a dearer
        mapping may be needed because more than the cost decides.
        """
        least = self._least_of_siblings(number).get(0)
        if least is None or number not in self._passed_by_nothing:
            return inf
        return least.bound[self.metric] if least.raised else inf

    def attained_by(self, choice: OnChipChoice) -> float:
        """Return the attained least cost of an equal Einsum with the choice's tensors on chip.

        Equal Einsums pose the same problem under other names. In joule, or second if latency is the
        objective; inf if no search attained it. Placements may be others than those of the choice.
        """
        fused, metric = choice.fused_einsum, self.metric
        return min(
            (
                bound.bound[metric]
                for bounds in self._bounds
                for bound in bounds
                if bound.raised
                and (bound.choice.fused_einsum.key_alone, bound.choice.mask)
                == (fused.key_alone, choice.mask)
            ),
            default=inf,
        )

    def choices_of(self, number: int, mask: int) -> list[OnChipChoice]:
        """Return the choices of an Einsum that keep just these of its tensors on chip.

        `number`: of the Einsum. `mask`: the tensors, as bits. An empty list for a copy Einsum.
        """
        return [b.choice for b in self._bounds[number] if b.choice.mask == mask]

    def limit_of_metric(self, cost: float) -> CostLimit:
        """Return a limit of the metric whose bounds are raised, energy (joule) or latency (second).

        The other metric is not limited.
        """
        return CostLimit(*with_metric(NEVER, self.metric, cost))

    def known_least(self, number: int, mask: int) -> float:
        """Return what an Einsum costs at least with some of its tensors on chip, without a search.

        `number`: of the Einsum. `mask`: the tensors, as bits. In joule, or second if latency is the
        objective; inf if that is impossible.
        """
        return self._einsum_costs(number, self.metric).get(mask, inf)

    def _least_of_siblings(self, number: int) -> dict[int, ChoiceBound]:
        """Return, for each set of an Einsum's tensors on chip, the choice with the lowest bound.

        Choices with one set differ in their compute or their placements. Keys: the set as bits.
        """
        least: dict[int, ChoiceBound] = {}
        for bound in self._bounds[number]:
            known = least.setdefault(bound.choice.mask, bound)
            if bound.bound[self.metric] < known.bound[self.metric]:
                least[bound.choice.mask] = bound
        return least

    def _costs(self, metric: int) -> list[dict[int, float]]:
        """Return the bounds of one metric (0 energy, 1 latency): per Einsum, by choice as bits."""
        return [self._einsum_costs(number, metric) for number in range(len(self._bounds))]

    def _einsum_costs(self, number: int, metric: int) -> dict[int, float]:
        """Return an Einsum's bounds of one metric (0 energy, 1 latency), by choice as bits."""
        costs: dict[int, float] = {}
        for mask, cost in self._choice_costs(number, metric):
            costs[mask] = min(costs.get(mask, inf), cost)
        return costs

    def _choice_costs(self, number: int, metric: int) -> Iterator[tuple[int, float]]:
        """Yield (tensors on chip as bits, bound) of an Einsum; one set may come several times."""
        copy = self._copies[number]
        if copy is None:
            yield from ((b.choice.mask, b.bound[metric]) for b in self._bounds[number])
            return
        for group in copy.groups:
            yield group.on_chip_mask, float(group.least_costs[:, metric].min())
