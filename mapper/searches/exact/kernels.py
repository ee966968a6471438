"""The compiled steps of the dynamic program over labels.

A table is a pair (start, label): the labels of state s are label[start[s]:start[s+1]], sorted
lexicographically by their first `nd` fields, none of them dominated by another in those fields.
Field 0 is the dynamic energy; field `Bound.lanes` minus the number of busy computes. Each step
returns the new table with, per label, the index of the label it came from.

`bound` = (kind, limit, leak, latency at no step, latency of all steps on one lane, latency floor,
lane field, most energy): a label is dropped when the objective cannot come out at or below the
limit, or the energy at or below the most that is of interest, given the least energy `rest[s]`
still to be paid and the most lanes `gain[s]` still to be multiplied. What takes time besides the
computes has a row of `paces` = (field, seconds of one unit of it now when it is divided most from
here on, and when least, constant) and of `seconds[s]` still to be added to that (latency_bound.py).

Kind FRONT has no limit but corners; behind the eight numbers stand their count, the count of room
fields, these fields, and per corner (energy, latency, room …), by energy: a label is dropped when
it cannot come out below one of its corner's numbers, for some corner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tilewright.arch.compiled import Kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
LabelArrays = tuple[Ints, Floats]  # start, label
OriginLabels = tuple[Ints, Floats, Ints]  # start, label, and the origin of each label
PruningArrays = tuple[Floats, Floats, Floats, Floats, Floats]  # rest, gain, bound, seconds, paces
Choices = tuple[Ints, Floats, Floats]  # reach, linear, fares
ENERGY, LATENCY, EDP, FRONT = 0.0, 1.0, 2.0, 3.0

_HOME: Final = "tilewright.mapper.searches.exact.label_kernels"
_I1, _I2, _F1, _F2 = "int64[::1]", "int64[:, ::1]", "float64[::1]", "float64[:, ::1]"
_TABLE: Final = f"{_I1}, {_F2}"
_VIEW: Final = f"PruningArrays, {_I1}, {_F2}, {_I2}"  # and the results
_RECORDS: Final = {"PruningArrays": f"{_F1}, {_F1}, {_F1}, {_F2}, {_F2}"}


def _kernel(name: str, *arguments: str) -> Kernel:
    return Kernel(_HOME, name, f"void({', '.join(arguments)})", records=_RECORDS)


_closure = _kernel("closure", _I1, _TABLE, "int64, int64", _VIEW)
_deal = _kernel("distribute", _I1, _TABLE, _I2, _F2, _F2, _VIEW)
_charge = _kernel("charge", _I1, _TABLE, _I1, _F2, _F1, _VIEW)
_union = _kernel("union", _I1, _TABLE, _I2, _TABLE, _I2, _I1, _F2, _I2)
_first = _kernel("first_of_groups", _I1, _F2, "float64", _I1, "bool[::1]")
_deal_above = _kernel("undo_distribute", _F1, _F1, _I2, _F2, _F1, _F1, _F1)
least_above = _kernel("least_above", _F1, "int64, int64, float64")
"""least_above(value, stride, radix, sign): in place, per state the least (sign 1) or greatest (-1)
value of itself and the states further along an axis."""


def closure(
    table: LabelArrays, nd: int, axis: tuple[int, int], view: PruningArrays
) -> OriginLabels:
    """Pass labels on to the states further along one axis: F(t) = Pareto(F(t), F(t - unit)).

    `axis` = (stride, radix). `rest` and `gain` must hold before the whole operation: a label
    dropped here goes no further.
    """

    def step(job: Ints, *results: Any) -> None:
        _closure(job, *table, *axis, view, *results)

    return _made(step, table, nd, 2 * len(table[1]) + 16)


def distribute(table: LabelArrays, nd: int, choices: Choices, view: PruningArrays) -> OriginLabels:
    """Apply the choices of one spatial dimension: F(t) = Pareto over c of F(t / lanes_c) * + .

    `choices` = (reach, linear, fares). reach[c, s]: index of the state that choice c leads to from
    s, or -1, shape (choices, states); linear[c]: what it multiplies each field by, then what it
    adds. Before that it charges its rows of `fares`, as many for each choice: field, amount at
    each state below.
    """

    def step(job: Ints, *results: Any) -> None:
        _deal(job, *table, *choices, view, *results)

    return _made(step, table, nd, 2 * len(table[1]) + 16)


def charge(
    table: LabelArrays, nd: int, costs: tuple[Ints, Floats, Floats], view: PruningArrays
) -> OriginLabels:
    """Add plus[i, s] to field fields[i] of every label at s; `costs` = (fields, plus, room).

    `room` = (field, capacity, reset): labels whose field exceeds the capacity are dropped; with
    reset the field then returns to 0, because nothing above adds to it.
    """

    def step(job: Ints, *results: Any) -> None:
        _charge(job, *table, *costs, view, *results)

    return _made(step, table, nd, len(table[1]) + 2)


def union(one: OriginLabels, other: OriginLabels, nd: int) -> OriginLabels:
    """Merge two tables whose labels descend from the same table, as their origins say."""

    def step(job: Ints, *results: Any) -> None:
        _union(job, *one, *other, *results)

    return _made(step, one[:2], nd, len(one[1]) + len(other[1]) + 2)


def undo_distribute(
    rest: Floats, gain: Floats, reach: Ints, energy: Floats, lanes: Floats
) -> tuple[Floats, Floats]:
    """Undo `deal` for the bounds: least energy and most lanes above, per state below.

    `energy` of each choice by the state below, shape (choices, states).
    """
    new_rest, new_gain = np.full(rest.shape, np.inf), np.zeros(rest.shape)
    _deal_above(rest, gain, reach, energy, lanes, new_rest, new_gain)
    return new_rest, new_gain


def first_of_groups(groups: Ints, values: Floats, noise: float = 0.0) -> Bools:
    """Return which rows no earlier row of their group dominates; rows sorted by group and values.

    `groups`: shape (rows,); `values`: shape (rows, metrics). A row also goes when it is better by
    less than `noise`, relative.
    """
    kept = np.empty(groups.shape, np.bool_)
    _first(groups, values, 1.0 + noise, np.empty(groups.shape, np.int64), kept)
    return kept


def _made(step: Callable[..., None], table: LabelArrays, nd: int, rows: int) -> OriginLabels:
    """Let a kernel do all states; when it runs out of room for labels, it goes on in more."""
    start, label = table
    job, begin = np.array([nd, 0, 0], np.int64), np.empty_like(start)
    out, origin = np.empty((rows, label.shape[1])), np.empty((rows, 2), np.int64)
    while True:
        step(job, begin, out, origin)
        _, states, count = job.tolist()
        if states == begin.shape[0] - 1:
            return begin, out[:count].copy(), origin[:count].copy()
        out, origin = _doubled(out, count), _doubled(origin, count)


def _doubled(rows: Any, count: int) -> Any:
    bigger = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    bigger[:count] = rows[:count]
    return bigger
