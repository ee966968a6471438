"""How the tile of a tensor lies in an element's memory, and how each loop moves in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.mapper.grid.padding import padding_value
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.workload.einsum import Affine
from tilewright.simulator.isa.index_expression import Index


@dataclass(frozen=True, slots=True)
class TileLayout:
    """The place of each value of a tensor's tile in a buffer; places count values.

    `tensor`: how the tensor is held. `order`: numbers of its ranks, the one that varies slowest in
    memory first. `origin`: place of the value at which all loops are in their first turn. `moves`:
    by loop in time, how far one turn moves inside the tile; 0 for a loop above the tile. `padding`:
    what lies behind the values of the tensor.
    """

    tensor: HeldTensor
    order: tuple[int, ...]
    origin: int
    moves: tuple[int, ...]
    padding: float = 0.0

    def element(self, point: Mapping[int, Index]) -> Index:
        """Return the place of a value in the buffer; point: the turn of each loop, 0 if absent.

        The turns may be counters; so the place is an affine expression of them.
        """
        offset = Index(self.origin)
        for number, turn in point.items():
            offset = offset + turn * self.moves[number]
        return offset


def tile_layout(read: SpaceTime, tensor: HeldTensor, vector: Sequence[int]) -> TileLayout:
    """Lay out a tile in row-major order, the ranks that a vector operation runs over last.

    `vector`: numbers of the loops in time of the vector operation, outermost first. A tensor that
    stays in the elements between Einsums keeps the order of its ranks.
    """
    forms = [form for _, form in tensor.access.projection]
    names = [read.time[number].variable for number in vector]
    order = list(range(len(forms)))
    if tensor.name not in read.staying:
        order.sort(key=lambda rank: _last_use(forms[rank], names))
    pitches, pitch = [0] * len(forms), 1
    for rank in reversed(order):
        pitches[rank] = pitch
        pitch *= tensor.extents[rank]
    moves = [
        0 if number < tensor.depth else _move(forms, pitches, loop.variable) * loop.tile
        for number, loop in enumerate(read.time)
    ]
    origin = sum(
        p * -factor * (tensor.tile[name] - 1)
        for form, p in zip(forms, pitches, strict=True)
        for name, factor in form.terms
        if factor < 0
    )
    return TileLayout(tensor, tuple(order), origin, tuple(moves), padding_value(read.einsum))


def _last_use(form: Affine, names: list[str]) -> int:
    """Return the place in `names` of the innermost loop whose variable indexes a rank, -1 for none.

    form: index of the rank, an affine expression.
    """
    used = dict(form.terms)
    return max((place for place, name in enumerate(names) if name in used), default=-1)


def _move(forms: list[Affine], pitches: list[int], variable: str) -> int:
    return sum(
        p * dict(form.terms).get(variable, 0) for form, p in zip(forms, pitches, strict=True)
    )
