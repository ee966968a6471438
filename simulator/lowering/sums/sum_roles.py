"""What each element does with partial sums, its role; elements with one role share a code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.partial_sums import PartialSums
from tilewright.mapper.grid.reductions import Phase
from tilewright.mapper.grid.schemes.ring_reduction import RingReduction, link_colors

Numbers = npt.NDArray[np.int32]
OUT = "out"
GATHER = "gather"
"""Begin of the colors by which finished tiles go along a column to the border."""
SHARE = "share"
"""Color on which the finished tile goes to all elements of a group."""
Share = Literal["none", "send", "receive"]
_Kind = TypeVar("_Kind")


class ShiftColors(NamedTuple):
    """The colors on which an element receives and sends the tiles of a tensor that shifts.

    `tensor`: its name; `receives`, `sends`: names of the colors.
    """

    tensor: str
    receives: str
    sends: str


@dataclass(frozen=True, slots=True)
class Role:
    """What an element receives, sends and passes on of the partial sums and results.

    `receives`: colors (virtual channels) on which partial sums arrive, in the order in which they
    are added. `send`: color on which the element sends its sum, `out` over the border; None if it
    stays in memory. `passes`: color on which finished tiles of other elements arrive, which the
    element sends on behind its own tile, and `passed`, how many; None and 0 for none. `share`:
    whether the element sends the finished tile to its group, receives it, or neither. `shifts`: the
    colors of the tensors whose tiles go round rings. `ring`: the place of an element that adds up a
    chunk of the tile round a ring, on the colors `receives` and `send`; None for other reductions.
    `stores`: whether the last sum, too, is in memory before it is sent. `fills`: numbers of the
    fills of padding that the element does before its work.
    """

    receives: tuple[str, ...] = ()
    send: str | None = None
    passes: str | None = None
    passed: int = 0
    share: Share = "none"
    shifts: tuple[ShiftColors, ...] = ()
    ring: int | None = None
    stores: bool = False
    fills: tuple[int, ...] = ()

    @property
    def sends_result(self) -> bool:
        """Whether the element sends a finished tile to the border."""
        return self.send is not None and self.send.startswith((OUT, GATHER))

    @property
    def name(self) -> str:
        """Name the role, and so the code: `from_sum0a_to_out`, `from_none_to_sum0b`."""
        received = "_".join(self.receives) or "none"
        stored = "_stored" if self.stores else ""
        passed = f"_passing_{self.passed}" if self.passed else ""
        shared = {"none": "", "send": "_sharing", "receive": "_shared"}[self.share]
        shifted = "".join(f"_{came}_{goes}" for _, came, goes in self.shifts)
        place = "" if self.ring is None else f"_place_{self.ring}"
        filled = "".join(f"_fill{number}" for number in self.fills)
        way = f"from_{received}{stored}_to_{self.send or 'none'}"
        return f"{way}{passed}{shared}{shifted}{place}{filled}"


def link_color(phase: int, link: int) -> str:
    """Return the color of link number `link` of a chain: `sum<phase>a`, `sum<phase>b` for odd ones.

    Neighbouring links need two colors so that an element can receive on one and send on the other.
    """
    return f"sum{phase}{'ab'[link % 2]}"


def exit_color(link: int) -> str:
    """Return the color between elements `link` and `link` + 1 of a column that gathers results.

    `gathera`, or `gatherb` for an odd link.
    """
    return f"{GATHER}{'ab'[link % 2]}"


@dataclass(frozen=True, slots=True)
class _Part:
    """What the elements of one row or column do in the phases along one axis.

    `receives`: colors of the sums that they add, in order; `send`: color of their own sum, None if
    it ends there; `stores`: whether their last sum is in memory before that.
    """

    receives: tuple[str, ...] = ()
    send: str | None = None
    stores: bool = False


class _ColumnKind(NamedTuple):
    """What the elements of a column do along their rows.

    `part`: their receives and sends; `is_head`: whether the sums of rows end in this column.
    """

    part: _Part
    is_head: bool


class _RowKind(NamedTuple):
    """What the elements of a row do along their columns.

    `part`: their receives and sends. `head`: number of the row among those with a result, from 0
    on; None for a row without one.
    """

    part: _Part
    head: int | None


def roles(columns: int, rows: int, sums: PartialSums) -> tuple[tuple[Role, ...], Numbers]:
    """Return the different roles, and the number of each element's role: (rows, columns).

    columns, rows: of the elements in use; sums: how partial sums are added and leave.
    """
    if sums.ring is not None:
        return _ring_roles(columns, rows, sums.ring)
    if sums.snake is not None:
        return _snake_roles(columns, rows, sums)
    kinds = _grid_kinds(columns, rows, sums)
    return kinds.roles, kinds.numbers[np.ix_(kinds.rows, kinds.columns)]


def split_roles(
    roles: Sequence[Role], placement: Numbers, kinds: Numbers, change: Callable[[Role, int], Role]
) -> tuple[tuple[Role, ...], Numbers]:
    """Split roles where elements that had the same one are of different kinds.

    `placement`, `kinds`: (rows, columns) the number of each element's role and kind, from 0 on;
    `change`: gives the role of elements of a kind from the one that they had. Returns the roles and
    the number of each element's role.
    """
    number = int(kinds.max()) + 1
    joined, inverse = np.unique(placement.astype(np.int64) * number + kinds, return_inverse=True)
    split = tuple(change(roles[pair // number], pair % number) for pair in joined.tolist())
    return split, inverse.reshape(placement.shape).astype(np.int32)


class _GridKinds(NamedTuple):
    """The roles of elements by the kinds of their row and column.

    `roles`: the different ones. `numbers`: place in `roles` by kind of row and kind of column.
    `rows`, `columns`: the kind of each row and of each column.
    """

    roles: tuple[Role, ...]
    numbers: Numbers
    rows: Numbers
    columns: Numbers


@lru_cache(maxsize=256)
def _grid_kinds(columns: int, rows: int, sums: PartialSums) -> _GridKinds:
    """Return the roles on a grid by kinds of rows and columns.

    They are cached, since many mappings of a search have the same sums.
    """
    heads = frozenset(sums.head_columns(columns))
    head_rows = {row: place for place, row in enumerate(sums.head_rows(rows))}
    row_parts = _parts(sums.phases, "X", columns)
    column_parts = _parts(sums.phases, "Y", rows)
    kinds_of_column, column_kinds = _numbered(
        [_ColumnKind(part, x in heads) for x, part in enumerate(row_parts)]
    )
    kinds_of_row, row_kinds = _numbered(
        [_RowKind(part, head_rows.get(y)) for y, part in enumerate(column_parts)]
    )
    numbers: dict[Role, int] = {}
    by_kinds = np.array(
        [
            [
                numbers.setdefault(_role(sums, column, row), len(numbers))
                for column in kinds_of_column
            ]
            for row in kinds_of_row
        ],
        dtype=np.int32,
    )
    return _GridKinds(tuple(numbers), by_kinds, row_kinds, column_kinds)


def _numbered(kinds: Sequence[_Kind]) -> tuple[list[_Kind], Numbers]:
    """Return the different kinds in order of first occurrence, and each item's place among them."""
    numbers: dict[_Kind, int] = {}
    numbered = [numbers.setdefault(kind, len(numbers)) for kind in kinds]
    return list(numbers), np.array(numbered, dtype=np.int32)


def _role(sums: PartialSums, column: _ColumnKind, row: _RowKind) -> Role:
    """Return the role of an element from the kinds of its column and row.

    Sums run along the first axis of `sums` in all lines, and along the second one only in the lines
    where those of the first end.
    """
    ends = {"X": column.is_head, "Y": row.head is not None}
    parts = {"X": column.part, "Y": row.part}
    first, second = (parts[axis] for axis in sums.axes)
    if not ends[sums.axes[0]]:
        role = Role(first.receives, first.send, stores=first.stores)
    elif second.send is not None:
        received = first.receives + second.receives
        role = Role(received, second.send, stores=second.stores)
    else:
        assert row.head is not None
        role = _finished(sums, first.receives + second.receives, row.head)
    return _sharing(sums, role, is_head=column.is_head and row.head is not None)


def _sharing(sums: PartialSums, role: Role, *, is_head: bool) -> Role:
    return replace(role, share="send" if is_head else "receive") if sums.shared else role


def _snake_roles(columns: int, rows: int, sums: PartialSums) -> tuple[tuple[Role, ...], Numbers]:
    """Return what `roles` does for snakes: one chain goes through the rows of a group, to and fro.

    Elements have the role of the first one, of an odd or an even link, or of an end of a group.
    """
    assert sums.snake is not None
    tall, wide = sums.group_rows, sums.group_columns
    kinds = np.where(sums.snake.places, 2 - sums.snake.places % 2, 0)
    kinds = np.tile(kinds, (rows // tall, columns // wide))
    kinds[tall - 1 :: tall, wide - 1 :: wide] = 3 + np.arange(rows // tall)[:, None]
    numbers: dict[Role, int] = {}
    for place in range(3):
        numbers[_sharing(sums, _link_role(place), is_head=False)] = place
    received = (link_color(0, sums.group - 2),)
    ends = (_finished(sums, received, number) for number in range(rows // tall))
    by_kind = [0, 1, 2]
    for role in ends:
        number = numbers.setdefault(_sharing(sums, role, is_head=True), len(numbers))
        by_kind.append(number)
    return tuple(numbers), np.array(by_kind, dtype=np.int32)[kinds]


def _ring_roles(columns: int, rows: int, ring: RingReduction) -> tuple[tuple[Role, ...], Numbers]:
    """Return what `roles` does for rings: each place of a ring has a role of its own."""
    colors = link_colors(ring.elements)
    parts = tuple(
        Role((receives,), sends, ring=place) for place, (receives, sends) in colors.items()
    )
    groups = rows // ring.way.rows, columns // ring.way.columns
    return parts, np.tile(ring.way.places, groups).astype(np.int32)


def _link_role(place: int) -> Role:
    """Return the role of the element at a place of a snake, counted from 0, before its end."""
    return Role((link_color(0, place - 1),) if place else (), link_color(0, place))


def _finished(sums: PartialSums, receives: tuple[str, ...], head: int) -> Role:
    """Return the role of the element in which a group's sums end.

    It keeps the tile, or sends it out, behind those of other groups if they are gathered. receives:
    colors of its last sums. `head`: number of the group among those of its column, from the north.
    """
    if sums.exit == "none":
        return Role(receives)
    stores = sums.narrows and bool(receives)
    if sums.exit != "gather":
        return Role(receives, OUT, stores=stores)
    passes = exit_color(head - 1) if head else None
    return Role(receives, exit_color(head), passes, head, stores=stores)


def _parts(phases: tuple[Phase, ...], axis: str, elements: int) -> list[_Part]:
    received: list[tuple[str, ...]] = [()] * elements
    sent: list[str | None] = [None] * elements
    stored = [False] * elements
    for number, phase in enumerate(phases):
        if phase.axis != axis:
            continue
        for chain in phase.chains:
            stored[chain.positions[0]] = chain.stores
            for link, position in enumerate(chain.positions):
                if link > 0:
                    received[position] += (link_color(number, link - 1),)
                if link < len(chain.positions) - 1:
                    sent[position] = link_color(number, link)
    return [_Part(*part) for part in zip(received, sent, stored, strict=True)]
