"""Cut the workload into fusion groups: neighbouring Einsums that tensors on chip link.

Nothing stays on chip from one group to the next. So each group is searched on its own, what it
costs adds up to what the workload costs, and groups that pose the same problem under other names,
such as the equal blocks of a network, have equal answers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.bounds.cost_limit import CostLimit
from tilewright.mapper.fusion.bounds.on_chip_relaxation import Places
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.join.join_pmappings import WholeLabel
from tilewright.mapper.fusion.join.join_step import JoinStep
from tilewright.mapper.fusion.pmappings.on_chip_choice import OnChipChoice


class JoinedMapping(NamedTuple):
    """Mapping of the workload, or of neighbouring Einsums.

    `label`: its costs, and the chosen pmapping (mapping of one Einsum) of each Einsum, by numbers
    of tables. `steps`: the tables, one step per Einsum.
    """

    label: WholeLabel
    steps: tuple[JoinStep, ...]

    def with_figures(self, **figures: Any) -> JoinedMapping:
        """Return the mapping with other figures of its label, such as those of the model.

        `figures`: latency in second, usage in bits.
        """
        return self._replace(label=replace(self.label, **figures))

    def costs_of_einsums(self, metric: int) -> list[float]:
        """Return what each Einsum costs: joule for metric 0, second for 1."""
        return [
            float(chosen.group.values[chosen.pmapping, metric]) for chosen in self.label.pmappings
        ]

    @property
    def places_on_chip(self) -> tuple[TensorPlace, ...]:
        """The (tensor, memory) pairs that the mapping keeps on chip, by Einsum, some repeatedly."""
        return tuple(
            place
            for chosen, step in zip(self.label.pmappings, self.steps, strict=True)
            for place, depth in zip(step.tables[0].boundary, chosen.group.depths, strict=True)
            if depth >= 0
        )

    def part(self, first: int, end: int) -> JoinedMapping:
        """Return the mapping of Einsums `first` to `end - 1` alone, taken out of this one.

        No tensor may be on chip between them and other Einsums.
        """
        energy, latency = (sum(self.costs_of_einsums(metric)[first:end]) for metric in (0, 1))
        label = WholeLabel(energy, latency, self.label.pmappings[first:end])
        return JoinedMapping(label, self.steps[first:end])


class PartLimits(NamedTuple):
    """Say what neighbouring Einsums may cost when they are joined: a group or a window.

    `first`: number of the first of them. `limits`: per Einsum, what it may cost with which tensors
    on chip. `remaining`: function of an Einsum's number within the part and the (tensor, memory)
    pairs on chip behind it; what the part's later Einsums cost at least. `highest`: what all may
    cost. Both in joule, or second if latency is the objective. `fused`: make mappings with loops
    that Einsums may share. `beam`: only the cheapest partial mapping per tile shape is looked at,
    which is fast.
    """

    first: int
    limits: Sequence[Mapping[OnChipChoice, CostLimit]]
    remaining: Callable[[int, Places], float]
    highest: float
    fused: bool = True
    beam: bool = True


class FusionGroup(NamedTuple):
    """Hold neighbouring Einsums with their best known mapping; no tensor on chip crosses its ends.

    `first`: number of the first of them. `masks`: the tensors on chip of each Einsum, as bits of
    its boundary.
    """

    first: int
    masks: tuple[int, ...]
    mapping: JoinedMapping

    @property
    def end(self) -> int:
        """Number of the first Einsum behind the group."""
        return self.first + len(self.masks)


def joined(mappings: Sequence[JoinedMapping]) -> JoinedMapping:
    """Return the mapping of the workload that runs parts of it one after the other.

    `mappings`: of the parts, in order; nothing stays on chip from one to the next.
    """
    labels = [mapping.label for mapping in mappings]
    if len(labels) == 1:
        return mappings[0]
    whole = WholeLabel(
        sum(label.energy for label in labels),
        sum(label.latency for label in labels),
        tuple(chosen for label in labels for chosen in label.pmappings),
    )
    return JoinedMapping(whole, tuple(step for mapping in mappings for step in mapping.steps))


def is_divisible(problem: FusedProblem) -> bool:
    """Tell whether parts of the workload can be searched on their own.

    Not where copies pass tensors on, or where usages or the outermost memory's capacity count.
    """
    return not problem.copies and problem.outermost_capacity is None and not problem.usage.names


class EqualParts:
    """Tell which neighbouring Einsums pose the same problem under other names."""

    def __init__(self, problem: FusedProblem) -> None:
        self._einsums = problem.exchanged.workload.einsums
        self._keys: list[Hashable] = [
            number if isinstance(entry, CopyTable) else tuple(fused.key for fused in entry)
            for number, entry in enumerate(problem.einsums)
        ]

    def key(self, first: int, end: int) -> Hashable:
        """Return a key of Einsums `first` to `end - 1`, equal for parts that pose one problem.

        It holds the key of each Einsum, and which of their tensors are the same, by number.
        """
        numbers: dict[str, int] = {}
        tensors = tuple(
            tuple(numbers.setdefault(tensor, len(numbers)) for tensor in einsum.tensors)
            for einsum in self._einsums[first:end]
        )
        return tuple(self._keys[first:end]), tensors
