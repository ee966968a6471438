"""The mappings of a copy Einsum for each choice of its tensors on chip, with lower bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from tilewright.mapper.fusion.bounds.cost_limit import EnergyLatency
from tilewright.mapper.fusion.copies.copy_pmappings import lanes_per_variable
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.mapping_scorer import TOLERANCE, MappingScorer


@dataclass(frozen=True, slots=True)
class ScoredCopy:
    """A mapping of a copy with its score, and what it was scored with.

    `values`: joule, second, and bits in use of each memory in CountedUsage.pmapping_memories.
    `scorer`, `space`: the scorer and the mapspace of the mapping.
    """

    mapping: LoopNest
    values: tuple[float, ...]
    scorer: MappingScorer
    space: Mapspace


@dataclass(frozen=True, slots=True)
class CopyChoice:
    """The mappings found for one choice of a copy's tensors on chip, with lower bounds.

    `lower_bound`: of energy in joule and latency in second. `complete`: no mapping is missing.
    `below_loops`: the mappings that may stand below shared loops; None: not known. `all_lanes`: all
    spatial choices above the memory where tensors are exchanged are among them.
    """

    mappings: tuple[ScoredCopy, ...]
    lower_bound: EnergyLatency
    complete: bool
    below_loops: tuple[ScoredCopy, ...] | None
    all_lanes: bool = True

    @property
    def slack(self) -> EnergyLatency:
        """How much the least energy and latency exceed their lower bounds.

        In joule and second; 0 where they are attained.
        """
        least = least_costs(self.mappings)
        return least[0] - self.lower_bound[0], least[1] - self.lower_bound[1]

    @property
    def is_optimal(self) -> bool:
        """Whether one mapping attains both lower bounds."""
        return any(_attains_bound(mapping, self.lower_bound) for mapping in self.mappings)


def merge_choices(choices: Iterable[CopyChoice | None]) -> CopyChoice | None:
    """Merge the mappings of several mapspaces into one choice; None if no mapspace has any."""
    fitting = [choice for choice in choices if choice is not None]
    if not fitting:
        return None
    lower_bounds = [choice.lower_bound for choice in fitting]
    return CopyChoice(
        tuple(chain.from_iterable(choice.mappings for choice in fitting)),
        (min(energy for energy, _ in lower_bounds), min(latency for _, latency in lower_bounds)),
        all(choice.complete for choice in fitting),
        _merge_below_loops(fitting),
        all(choice.all_lanes for choice in fitting),
    )


def _merge_below_loops(choices: Sequence[CopyChoice]) -> tuple[ScoredCopy, ...] | None:
    """Return the mappings that may stand below shared loops, those of all choices in one tuple.

    None if they are not known for some choice.
    """
    below_loops: list[ScoredCopy] = []
    for choice in choices:
        if choice.below_loops is None:
            return None
        below_loops += choice.below_loops
    return tuple(below_loops)


def may_stand_below_loops(choices: Mapping[tuple[str, ...], CopyChoice]) -> bool:
    """Tell whether for all choices it is known which mappings may stand below shared loops."""
    return all(choice.below_loops is not None for on_chip, choice in choices.items() if on_chip)


def _attains_bound(scored: ScoredCopy, bound: EnergyLatency) -> bool:
    return all(scored.values[i] <= bound[i] * (1 + TOLERANCE) for i in (0, 1))


def optimal_without_lanes(
    space: Mapspace, mappings: Sequence[ScoredCopy], bound: EnergyLatency
) -> tuple[ScoredCopy, ...] | None:
    """Return the mappings without spatial loops that attain both lower bounds; None if none does.

    No other mapping is better below any shared loops.
    """
    optimal = tuple(
        scored
        for scored in mappings
        if _attains_bound(scored, bound)
        and set(lanes_per_variable(scored.mapping, space.einsum.bounds).values()) <= {1}
    )
    return optimal or None


def greatest_costs(costs: Sequence[EnergyLatency]) -> EnergyLatency:
    """Return the greatest energy and the greatest latency."""
    return max(energy for energy, _ in costs), max(latency for _, latency in costs)


def least_costs(mappings: Sequence[ScoredCopy]) -> EnergyLatency:
    """Return the least energy and the least latency."""
    return min(m.values[0] for m in mappings), min(m.values[1] for m in mappings)
