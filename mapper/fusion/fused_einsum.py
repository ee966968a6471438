"""Prepare an Einsum for a fused search: its mapspace, and its placements by what stays on chip.

A placement says which memory keeps which tensor. Sorted by the exchanged tensors that it keeps on
chip, it tells what the Einsum costs at least before any template is made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.mapper.fusion.boundary.exchanged_tensors import (
    EinsumPath,
    ExchangedTensors,
    TensorPlace,
)
from tilewright.mapper.fusion.bounds.cost_limit import EnergyLatency
from tilewright.mapper.fusion.pmappings.fused_templates import (
    FusedTemplate,
    first_two_memories,
    private_tensors,
    refuse_unclear_backing,
)
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.least_placement_costs import (
    least_costs,
    least_transfer_energy,
)
from tilewright.mapper.searches.exact.metric_terms import refuse_unsupported
from tilewright.mapper.searches.identical_einsums import HashedOnce, ProblemKeys
from tilewright.mapper.templates.placement import Placement
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import UnsupportedFeature

MOST_PROMISING = 4  # placements of an Einsum and a choice of tensors on chip
LARGE = 50_000  # placements times tile shapes of an Einsum
FEW_PLACEMENTS = 4  # below which an Einsum has one group of placements
GROUP_ENDS = (1.03, 1.2, 1.6)  # of groups of placements: what they cost, relative to the least


class PlacementsByMask(Mapping[int, Sequence[Placement]]):
    """The placements of an Einsum by the exchanged tensors on chip, made when they are asked for.

    `counts`: how many there are for each set of tensors. `make`: lists them.
    """

    def __init__(
        self, counts: Mapping[int, int], make: Callable[[], Mapping[int, Sequence[Placement]]]
    ) -> None:
        self.counts = counts
        self._make = make
        self._made: Mapping[int, Sequence[Placement]] | None = None

    @classmethod
    def of(cls, placements: Mapping[int, Sequence[Placement]]) -> PlacementsByMask:
        """Return placements that are listed already."""
        return cls({mask: len(several) for mask, several in placements.items()}, lambda: placements)

    def __getitem__(self, mask: int) -> Sequence[Placement]:
        if self._made is None:
            self._made = self._make()
        return self._made[mask]

    def __iter__(self) -> Iterator[int]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, eq=False, slots=True)
class FusedEinsum:
    """One Einsum on the path to one of its computes, prepared for a fused search.

    `space`: its mapspace. `number`: of the compute among those of the Einsum. `boundary`: the
    (tensor, memory) pairs in which its tensors may stay on chip. `key`: equal for Einsums that pose
    the same problem under other names. `key_alone`: the same without what other Einsums may hold of
    its tensors in shared loops. `placements`: which holder keeps which tensor, by the set of
    exchanged tensors on chip, as bits of `boundary`. `most_templates`: how many templates (mappings
    without their loops) are looked at for each such set; None: all.
    """

    space: Mapspace
    number: int
    boundary: tuple[TensorPlace, ...]
    key: Hashable
    key_alone: Hashable
    placements: PlacementsByMask
    most_templates: int | None = None

    @property
    def einsum(self) -> Einsum:
        """The Einsum as the workload has it."""
        return self.space.einsum

    @property
    def size(self) -> int:
        """Rough size of the Einsum's search: number of placements times number of tile shapes.

        The placements are those of all choices of tensors on chip.
        """
        return sum(self.placements.counts.values()) * Lattice(self.einsum.bounds).size

    def placement_groups(self, mask: int, by_cost: bool) -> list[tuple[int, ...]]:
        """Return the placements for a set of exchanged tensors on chip, as positions, in groups.

        `mask`: the set, as bits of `boundary`. `by_cost`: placements are grouped by the least
        energy they can cost, the cheapest group first: often no other is ever needed. Otherwise,
        and where they are few, all are in one group.
        """
        placements = self.placements[mask]
        if not by_cost or len(placements) < FEW_PLACEMENTS:
            return [tuple(range(len(placements)))]
        energies = np.array([least_costs(self.space, [p])[0] for p in placements])
        ends = np.searchsorted(GROUP_ENDS, energies / energies.min(), side="left")
        groups = (np.flatnonzero(ends == end).tolist() for end in range(len(GROUP_ENDS) + 1))
        return [tuple(group) for group in groups if group]

    def promising_placements(self) -> Mapping[int, Sequence[int]]:
        """Return the positions of the placements that take the least energy to move tensors.

        By the set of exchanged tensors on chip, at most MOST_PROMISING each, cheapest first.
        Einsums with equal keys have equal ones.
        """
        promising: dict[int, Sequence[int]] = {}
        for mask, several in self.placements.items():
            energies = [least_transfer_energy(self.space, placement) for placement in several]
            promising[mask] = np.argsort(energies, kind="stable").tolist()[:MOST_PROMISING]
        return promising

    def narrowed(self, chosen: Mapping[int, Sequence[int]], templates: int) -> FusedEinsum:
        """Return the Einsum with some of its placements only, and few templates.

        `chosen`: their numbers, by the set of exchanged tensors on chip as bits of `boundary`.
        `templates`: how many templates are looked at for each set.
        """
        kept = {
            mask: tuple(self.placements[mask][number] for number in numbers)
            for mask, numbers in chosen.items()
        }
        return replace(self, placements=PlacementsByMask.of(kept), most_templates=templates)

    def some_of(self, templates: Sequence[FusedTemplate]) -> tuple[FusedTemplate, ...]:
        """Return the templates to look at: all, or `most_templates` evenly spread over the list."""
        if self.most_templates is None or len(templates) <= self.most_templates:
            return tuple(templates)
        numbers = np.linspace(0, len(templates) - 1, self.most_templates).astype(int).tolist()
        return tuple(templates[number] for number in numbers)

    def compulsory_costs(self, placements: Sequence[Placement]) -> EnergyLatency:
        """Return lower bounds of energy and latency: computing, and moving each tensor once.

        Joule and second, of all instances. `placements`: which memory keeps which tensors, in one
        of several ways (theory/lattice.md §6.3).
        """
        energy, latency = least_costs(self.space, placements)
        return energy * self.einsum.n_instances, latency * self.einsum.n_instances


class EinsumPreparation:
    """Prepares the Einsums of a workload for a fused search.

    `exchanged`: which tensors may stay on chip. `conventions`: name of the counting rules.
    `crowded`: names of memories that may be too small although the tensors of one Einsum fit.
    Placements of Einsums that differ in names only are looked at once.
    """

    def __init__(
        self, exchanged: ExchangedTensors, conventions: str, crowded: frozenset[str] = frozenset()
    ) -> None:
        self._exchanged, self._conventions, self._crowded = exchanged, conventions, crowded
        self._keys = ProblemKeys()
        self._counts: dict[Hashable, Mapping[int, int]] = {}

    def fused_einsum(self, path: EinsumPath, number: int) -> FusedEinsum:
        """Prepare an Einsum on the path to one of its computes.

        `path`: the Einsum with the components down to the compute, which has this `number` among
        its computes. Raises UnsupportedFeature for an Einsum or architecture that the exact search
        cannot model.
        """
        exchanged, (einsum, flat) = self._exchanged, path
        tensors = frozenset(einsum.tensors)
        space = Mapspace(
            einsum,
            flat,
            self._conventions,
            tensors & exchanged.outermost_only,
            crowded=self._crowded,
            exchanged=tensors & exchanged.exchangeable,
            lists_lane_choices=True,
        )
        refuse_unsupported(space.problem, networks=True)
        boundary = exchanged.places_of_einsum(einsum)
        roles = _tensor_roles(exchanged, einsum)
        alone = HashedOnce((self._keys.of(space), einsum.n_instances, roles))
        key = HashedOnce((alone, _roles_with_others(exchanged, einsum)))
        placements = self._placements(space, boundary, alone)
        return FusedEinsum(space, number, boundary, key, alone, placements)

    def _placements(
        self, space: Mapspace, boundary: tuple[TensorPlace, ...], alone: Hashable
    ) -> PlacementsByMask:
        """Return the placements of an Einsum; refuse tensors whose outermost holder is unclear."""
        numbers = {tensor: i for i, tensor in enumerate(space.einsum.tensors)}
        places = tuple((numbers[place.tensor], place.memory) for place in boundary)
        backed = frozenset(numbers[tensor] for tensor in space.backed)
        counts = self._counts.get((alone, places, backed))
        if counts is not None:
            return PlacementsByMask(counts, lambda: _placements_by_mask(space, boundary))
        refuse_unclear_backing(space, frozenset(boundary))
        groups = _placements_by_mask(space, boundary)
        made = PlacementsByMask.of(groups)
        self._counts[alone, places, backed] = made.counts
        return made


def refuse_unkept_tensors(outermost: str, einsums: Iterable[FusedEinsum]) -> None:
    """Raise UnsupportedFeature if a small outermost memory need not keep a private tensor.

    A private tensor is used by one Einsum only. The search checks the capacity of the outermost
    memory by which exchanged tensors are off chip, and takes all others to be there whole.
    `outermost`: its name. `einsums`: those that were prepared, one per compute.
    """
    for fused in einsums:
        for placement in (p for several in fused.placements.values() for p in several):
            kept_tensors = frozenset(dict(placement.kept_tensors).get(outermost, ()))
            unkept = private_tensors(fused.space) - kept_tensors
            if unkept:
                raise UnsupportedFeature(
                    f"{outermost} may be too small, and need not keep {', '.join(sorted(unkept))}",
                    instead="search without fusion",
                )


def _placements_by_mask(
    space: Mapspace, boundary: Sequence[TensorPlace]
) -> Mapping[int, Sequence[Placement]]:
    """Group the placements by the exchanged tensors on chip, as bits of the boundary.

    Placements that keep an exchanged tensor first elsewhere are left out.
    """
    groups: dict[int, list[Placement]] = {}
    for placement in space.placements:
        mask = _on_chip_mask(space, placement, boundary)
        if mask is not None:
            groups.setdefault(mask, []).append(placement)
    return groups


def _on_chip_mask(
    space: Mapspace, placement: Placement, boundary: Sequence[TensorPlace]
) -> int | None:
    """Return the exchanged tensors that a placement keeps on chip, as bits of the boundary.

    None if it keeps an exchanged tensor first in a memory that is neither the outermost one nor in
    the boundary for this tensor.
    """
    outermost = first_two_memories(space.flat)[0].name
    mask = 0
    for tensor in dict.fromkeys(place.tensor for place in boundary):
        place = TensorPlace(tensor, _first_memory_of(space, placement, tensor))
        if place in boundary:
            mask |= 1 << boundary.index(place)
        elif place.memory != outermost:
            return None
    return mask


def _first_memory_of(space: Mapspace, placement: Placement, tensor: str) -> str:
    """Return the outermost memory that keeps a tensor."""
    names = (name for name, tensors in placement.kept_tensors if tensor in tensors)
    return next(name for name in names if isinstance(space.problem.holder(name), Memory))


def _roles_with_others(exchanged: ExchangedTensors, einsum: Einsum) -> Hashable:
    """Return, per tensor, (whether it is contested, whether its tiles are tracked), without names.

    Both as ExchangedTensors says; the key is equal for Einsums that are alike in this.
    """
    return tuple(
        (tensor in exchanged.contested, tensor in exchanged.tracked_tiles)
        for tensor in einsum.tensors
    )


def _tensor_roles(exchanged: ExchangedTensors, einsum: Einsum) -> Hashable:
    """Return, per tensor, its windows, the loops shareable above it and its memories on chip.

    A key for comparing Einsums: positions instead of names of tensors and variables.
    """
    shareable = exchanged.shareable_variables(einsum)
    return tuple(
        (
            tensor in exchanged.varied_windows,
            tuple(v in shareable[tensor] for v in einsum.bounds) if tensor in shareable else None,
            tuple(place.memory for place in exchanged.places_of_tensor(tensor))
            if tensor in shareable
            else (),
        )
        for tensor in einsum.tensors
    )
