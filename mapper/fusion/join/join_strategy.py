"""Decide which steps a search of a whole workload takes, by its objective, size and budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.mapper.fusion.fused_einsum import LARGE
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.groups.fusion_groups import is_divisible
from tilewright.mapper.searches.budget import Budget

MANY_EINSUMS = 4
FEW_TEMPLATES = 180  # of all different Einsums, each with one choice on chip, to start with
LEAST_TEMPLATES, MOST_TEMPLATES = 4, 60  # of an Einsum and a choice of tensors on chip
LEAST_START = 3.0  # seconds for a first mapping, which tells more than a bound


def first_share(seconds_left: float | None, share: float, most: float) -> float:
    """Return the share (0 to 1) of the seconds left in which a first mapping is looked for.

    It is `share`, but up to `most` where the share would be less than LEAST_START seconds.
    `seconds_left`: None if they are not limited.
    """
    least = LEAST_START / seconds_left if seconds_left else 0.0
    return max(share, min(most, least))


@dataclass(frozen=True, slots=True)
class JoinStrategy:
    """Decides which steps a search of a workload takes.

    `problem`: the workload and the objective. `budget`: the limits of the search.
    """

    problem: FusedProblem
    budget: Budget

    @property
    def starts_small(self) -> bool:
        """Whether a good mapping is looked for fast before the search proper.

        So if there is a budget, which may end the search at any time, or if the search is large.
        """
        if self.problem.is_narrowed or self.problem.ties is not None:
            return False
        return self.budget.is_limited or self._is_large

    @property
    def few_templates(self) -> int:
        """Templates per Einsum and choice of tensors on chip that the fast first search looks at.

        A template is a mapping without its loops.
        """
        different = len({fused.key for fused in self.problem.solved})
        return min(max(FEW_TEMPLATES // max(1, different), LEAST_TEMPLATES), MOST_TEMPLATES)

    @property
    def uses_windows(self) -> bool:
        """Whether bounds of windows of neighbouring Einsums are raised.

        Only in a large search for energy or latency whose parts can be searched on their own.
        """
        problem = self.problem
        is_additive = problem.objective in ("energy", "latency") and problem.ties is None
        is_bound = is_additive and problem.counts_capacity
        return is_bound and self._is_large and is_divisible(problem)

    @property
    def ties_are_few(self) -> bool:
        """Whether the search breaks ties and few pmappings can be as good as the best.

        With equal energy there are few. With equal latency there are many if many Einsums leave
        each one far more energy than it can be better by.
        """
        if self.problem.ties is None:
            return False
        return self.problem.objective != "energy" or not self.has_many_einsums

    @property
    def has_many_einsums(self) -> bool:
        """Whether there are at least MANY_EINSUMS Einsums that are not copies."""
        return len(self.problem.einsums) - len(self.problem.copies) >= MANY_EINSUMS

    def passes(self, has_good_mapping: bool) -> Iterator[bool]:
        """Yield, per pass below one limit, whether it looks at mappings with shared loops.

        `has_good_mapping`: one from the fast first search.
        """
        if not has_good_mapping or not self.problem.counts_capacity:
            yield False
        if self.problem.counts_capacity:
            yield True

    @property
    def _is_large(self) -> bool:
        """Whether some Einsum has many placements times tile shapes (LARGE).

        False in the fast first search.
        """
        is_whole = not self.problem.is_narrowed
        return is_whole and any(fused.size >= LARGE for fused in self.problem.solved)
