"""Steps of the dynamic program over tile shapes, and the program of one template.

The dynamic program grows the tile from the Compute to the whole iteration space (lattice.md §1.2).
A step grows the tile (TemporalLoops, SpatialStep), charges costs (ChargeStep, PaymentStep) or
reserves bits for a tile (ReserveStep). A slot of temporal loops is a step as it is: it multiplies
the tile by any factors of its variables, or of one of them, and costs nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tilewright.arch.components.components import Comparison
from tilewright.mapper.searches.program.charge_sites import ChoiceAmount, ChoiceFactors, CostTerm
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.slots import Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops


@dataclass(frozen=True, slots=True)
class SpatialStep:
    """A step of the dynamic program: the spatial loops of one dimension, by choice of lanes.

    `loops`: the dimension and its choices. Choice i first charges the costs `charges[i]` for the
    tile below, unless `charges` is empty. Then it multiplies column `factors[n][0]` of a label (a
    partial mapping's tuple of costs) by `factors[n][1][i]`, and adds `added[n].values[i]` to column
    `added[n].field`. A lane is one instance along a dimension of a fanout.
    """

    loops: SpatialLoops
    added: tuple[ChoiceAmount, ...]
    factors: ChoiceFactors = ()
    charges: tuple[tuple[CostTerm, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ChargeStep:
    """A step of the dynamic program: add costs that depend on the tile alone to all labels.

    A label is the tuple of costs of a partial mapping. `terms`: the costs; `required`: tile_shape
    conditions of the architecture file that the tile must meet here, else the label goes.
    """

    terms: tuple[CostTerm, ...]
    required: tuple[Comparison, ...] = ()


class FieldLimit(NamedTuple):
    """The capacity of a memory whose bits in use a column of the labels holds.

    `field`: the column; `capacity`: bits; `is_last`: nothing above adds to it, so it is emptied. A
    label is the tuple of costs of a partial mapping.
    """

    field: int
    capacity: float
    is_last: bool


@dataclass(frozen=True, slots=True)
class PaymentStep:
    """A step of the dynamic program: pay costs that labels carried until lanes were known.

    `moves`: pairs of columns of a label (a partial mapping's tuple of costs): the first is added
    to the second and emptied. `refunds`: negative costs among them, for lower bounds, by the
    column that gets them. `limits`: capacities of second columns that hold bits. A lane is one
    instance along a dimension of a fanout.
    """

    moves: tuple[tuple[int, int], ...]
    refunds: tuple[CostTerm, ...] = ()
    limits: tuple[FieldLimit, ...] = ()


@dataclass(frozen=True, slots=True)
class ReserveStep:
    """A step of the dynamic program: a memory needs capacity for a tile.

    `reservation`: tensor, memory and lanes. `is_shared`: the template has other reservations in
    the memory, so the bits are summed in a column of the labels; else each tile is checked alone.
    `is_last`: no reservation in that memory stands above. A template is a mapping without its
    loops; a label is the tuple of costs of a partial mapping; a lane is one instance along a
    dimension of a fanout.
    """

    reservation: Reservation
    is_shared: bool
    is_last: bool


ProgramStep = TemporalLoops | SpatialStep | ChargeStep | PaymentStep | ReserveStep


@dataclass(frozen=True, slots=True)
class TemplateProgram:
    """The steps of the dynamic program for one template, innermost first.

    `template`: the mapping without loops; `slot_sequence`: its slots, outermost first. `steps`:
    grow the tile, charge costs or reserve capacity. `slots[i]`: number of the slot that step i
    stands for; None for costs. `deferred_slots`: slots of reservations whose bits are added when
    the lanes above them are known. A lane is one instance along a dimension of a fanout.
    """

    template: Template
    slot_sequence: tuple[Slot, ...]
    steps: tuple[ProgramStep, ...]
    slots: tuple[int | None, ...]
    deferred_slots: frozenset[int] = frozenset()
