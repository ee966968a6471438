"""Say which pmappings of an Einsum are asked for: tensors on chip, and what they may cost."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from tilewright.mapper.fusion.bounds.cost_limit import CostLimit
from tilewright.mapper.fusion.fused_einsum import FusedEinsum
from tilewright.mapper.fusion.fused_problem import ChoiceName
from tilewright.mapper.fusion.pmappings.region.region_rules import AgreedTile
from tilewright.mapper.templates.placement import Placement


@dataclass(frozen=True, slots=True)
class PmappingFilter:
    """Say which pmappings of an Einsum and a set of tensors on chip are made.

    `cost_limit`: most energy in joule and latency in second. `fused`: with fused loops, which other
    Einsums may share, or without any. `beam`: of a tile shape only the partial mapping of least
    energy is kept at each step, which is much faster; all that are made exist, but better ones may
    be missing. `agreed`: tiles that tensors on chip must have, because Einsums that share them have
    no others.
    """

    cost_limit: CostLimit
    fused: bool = True
    beam: bool = False
    agreed: tuple[AgreedTile, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class OnChipChoice:
    """Choice of the exchanged tensors that one Einsum keeps on chip, and where.

    `fused_einsum`: the Einsum on the path to one compute. `mask`: bit i is set if the tensor stays
    at place i of the Einsum's boundary, the list of (tensor, memory) pairs. `group`: numbers of the
    placements (which memory keeps which tensor) with these tensors on chip that it stands for.
    """

    fused_einsum: FusedEinsum
    mask: int
    group: tuple[int, ...]

    @property
    def key(self) -> Hashable:
        """Key that is equal for choices which pose the same problem under other names.

        A choice is an Einsum with the set of its exchanged tensors that stay on chip.
        """
        return self.fused_einsum.key, self.mask, self.group

    @property
    def key_alone(self) -> Hashable:
        """Key that is equal for choices whose mappings, each by itself, are the same.

        A choice is an Einsum with the set of its exchanged tensors that stay on chip. What other
        Einsums hold of its tensors may differ.
        """
        return self.fused_einsum.key_alone, self.mask, self.group

    @property
    def name(self) -> ChoiceName:
        """(name of the Einsum, number of its compute, exchanged tensors on chip as bits, group).

        The bits count over the (tensor, memory) pairs in which the Einsum's tensors may stay on
        chip. The group: the numbers of the placements that the choice stands for.
        """
        return self.fused_einsum.einsum.name, self.fused_einsum.number, self.mask, self.group

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Which memory keeps which tensor, one entry per placement of the choice."""
        several = self.fused_einsum.placements[self.mask]
        return tuple(several[number] for number in self.group)


class LargestChoice(NamedTuple):
    """Name the choice of tensors on chip whose search made most labels (partial mappings).

    `labels`: how many; `all_labels`: those of all choices.
    """

    choice: OnChipChoice
    labels: int
    all_labels: int
