"""What the holders and networks of the region cost, and the bits that they reserve.

Everything there has a closed form: a tile is the whole of each variable, except for the variables
of the loops above it (theory/fusion.md §2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate
from tilewright.mapper.fusion.pmappings.region.loop_placements import LoopPlacement
from tilewright.mapper.fusion.pmappings.region.region_rules import RegionRules, tile_bits
from tilewright.mapper.fusion.pmappings.region.tile_reservations import TileReservation
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import (
    gap_above_lanes,
    gap_below_lanes,
)
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.templates.placement import Holder


class ReservedBits(NamedTuple):
    """Bits that the mappings of a placement reserve in each exchange memory.

    `per_loop`: by holders that exchange nothing, above loop 1, …, n, and in all; shape (memories,
    labels, loops + 1). `exchanged`: by exchanged tensors on chip; shape (memories, labels).
    """

    per_loop: Floats
    exchanged: Floats


class RegionCosts:
    """Costs and bits of the region, for the labels of placements of fused loops.

    `engine`: lattice of tile shapes and columns of labels. `rules`: what counts in the region.
    """

    def __init__(self, engine: LabelEngine, rules: RegionRules) -> None:
        self._engine = engine
        self._rules = rules
        self._tile_bits: dict[TensorPlace, Floats] = {}

    def charge(self, placement: LoopPlacement, labels: Floats) -> None:
        """Add the costs of the region's holders and Networks to label rows, in place."""
        region, loops, states = placement.region, placement.source.loops, placement.states
        inner = placement.source.inner_program
        for place, terms in inner.network_charges.items():
            self._add_calls(
                labels, terms, region.states_above(loops, gap_above_lanes(place), states)
            )
        for place, holder in enumerate(inner.template.region):
            if not _is_exchanged(inner.template, place, holder):
                tile_states = region.states_above(loops, gap_below_lanes(place), states)
                self._add_calls(labels, inner.holder_charges[place], tile_states)

    def _add_calls(self, labels: Floats, terms: Sequence[CostTerm], tile_states: Ints) -> None:
        """Add the calls that `terms` charge at tile shapes `tile_states` to labels, in place."""
        for term in terms:
            counts = self._engine.arrays.count(term.tensor, term.kind, term.lanes)
            labels[:, term.field] += term.factor * counts[tile_states]

    def reserved(
        self, placement: LoopPlacement, reservations: Sequence[TileReservation], labels: Floats
    ) -> ReservedBits:
        """Return the bits that all holders of the Einsum reserve in the exchange memories.

        `reservations`: per holder of the region, its tile and the loops above it. `labels`: one row
        of costs and bits per pmapping of the placement.
        """
        template = placement.source.inner_program.template
        n_loops = len(placement.source.loops) + len(placement.source.inner_program.spatial_loops)
        memories = {name: number for number, name in enumerate(self._rules.memories)}
        bits_above = np.zeros((len(memories), len(labels), n_loops + 1))
        exchanged = np.zeros((len(memories), len(labels)))
        for place, (holder, reservation) in enumerate(
            zip(template.region, reservations, strict=True)
        ):
            states = placement.region.reserved_states(reservation.tiles, placement.states)
            bits, memory = self._bits_of(holder)[states], memories[holder.component]
            if _is_exchanged(template, place, holder):
                exchanged[memory] += bits
            elif place not in template.streamed:
                bits_above[memory, :, reservation.loops_above] += bits
        bits_above = np.cumsum(bits_above, axis=2)
        used_bits = self._engine.fields.used_bits
        for name, memory in memories.items():
            if name in used_bits:
                bits_above[memory, :, -1] += labels[:, used_bits[name]]
            else:
                bits_above[memory] = 0.0
        return ReservedBits(bits_above, exchanged)

    def usages(self, labels: Floats, template: FusedTemplate) -> list[Floats]:
        """Return the bits in use of each counted memory, one array (labels,) per memory."""
        used_bits = self._engine.fields.used_bits
        nothing = np.zeros(len(labels))
        outermost = self._outermost_bits(template)
        return [
            labels[:, used_bits[name]] if name in used_bits else nothing + outermost.get(name, 0.0)
            for name in self._rules.usage_memories
        ]

    def fits(self, reserved: ReservedBits) -> NDArray[np.bool_]:
        """Mark the labels whose reserved bits fit in every exchange memory; shape (labels,)."""
        capacities = np.array(self._rules.capacities)[:, np.newaxis]
        whole = reserved.per_loop[:, :, -1] + reserved.exchanged
        return np.asarray((whole <= capacities).all(axis=0))

    def _outermost_bits(self, template: FusedTemplate) -> dict[str, float]:
        """Return, by memory, the bits that private tensors take whole in the outermost memory.

        Private: no other Einsum uses it, and it does not persist.
        """
        bits: dict[str, float] = {}
        for holder in template.template.holders[: template.n_outermost]:
            if holder.tensor in self._rules.private:
                whole_bits = float(self._bits_of(holder)[-1])
                bits[holder.component] = bits.get(holder.component, 0.0) + whole_bits
        return bits

    def _bits_of(self, holder: Holder) -> Floats:
        """Return the bits of a holder's tile for every tile shape; shape (states,)."""
        place = TensorPlace.of(holder)
        if place not in self._tile_bits:
            self._tile_bits[place] = tile_bits(self._engine, *place)
        return self._tile_bits[place]


def _is_exchanged(template: FusedTemplate, place: int, holder: Holder) -> bool:
    """Tell whether the holder at a place of the region backs a tensor that Einsums exchange."""
    return holder.backing and place >= template.n_private
