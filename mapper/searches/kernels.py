"""The compiled steps of the dynamic program over labels.

A table is a pair (start, label): the labels of state s are label[start[s]:start[s+1]], sorted
lexicographically by their first `nd` fields, none of them dominated by another in those fields.
Field 0 is the dynamic energy; field `Bound.lanes` minus the number of busy computes. Each kernel
returns the new table with, per label, the index of the label it came from.

`bound` = (kind, limit, leak, latency at no step, latency of all steps on one lane, latency floor,
lane field, most energy): a label is dropped when the objective cannot come out at or below the
limit, or the energy at or below the most that is of interest, given the least energy `rest[s]`
still to be paid and the most lanes `gain[s]` still to be multiplied.

Kind FRONT has no limit but corners; behind the eight numbers stand their count, the count of room
fields, these fields, and per corner (energy, latency, room …), by energy: a label is dropped when
it cannot come out below one of its corner's numbers, for some corner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ENERGY, LATENCY, EDP, FRONT = 0.0, 1.0, 2.0, 3.0


@njit(cache=True, error_model="numpy")
def _behind(label: Floats, row: int, energy: float, latency: float, bound: Floats) -> Any:
    """Tell whether a label is at or above some corner in everything."""
    rooms = int(bound[9])
    place = 10 + rooms
    for _ in range(int(bound[8])):
        if bound[place] > energy:
            return False
        if bound[place + 1] <= latency:
            worse = True
            for i in range(rooms):
                if bound[place + 2 + i] > label[row, int(bound[10 + i])]:
                    worse = False
                    break
            if worse:
                return True
        place += 2 + rooms
    return False


@njit(cache=True, error_model="numpy")
def _hopeless(label: Floats, row: int, view: tuple[float, float], bound: Floats) -> Any:
    rest, gain = view
    energy = label[row, 0] + rest
    if not energy < np.inf:
        return True
    if bound[0] == 0.0 and bound[2] == 0.0:
        return energy > bound[1]
    lanes = -label[row, int(bound[6])] * gain
    if lanes <= 0.0:
        return True
    latency = max(bound[3] + bound[4] / lanes, bound[5])
    energy += bound[2] * latency
    if energy > bound[7]:
        return True
    if bound[0] == 0.0:
        return energy > bound[1]
    if bound[0] == 1.0:
        return latency > bound[1]
    if bound[0] == 3.0:
        return _behind(label, row, energy, latency, bound)
    return energy * latency > bound[1]


@njit(cache=True, error_model="numpy")
def _dominates(label: Floats, row: int, other: Floats, its: int, nd: int) -> Any:
    for field in range(nd):  # noqa: SIM110 - numba compiles the loop, not all()
        if label[row, field] > other[its, field]:
            return False
    return True


@njit(cache=True, error_model="numpy")
def _before(label: Floats, row: int, other: Floats, its: int, nd: int) -> Any:
    for field in range(nd):
        if label[row, field] != other[its, field]:
            return label[row, field] < other[its, field]
    return True


@njit(cache=True, error_model="numpy")
def _copy(source: Floats, row: int, target: Floats, its: int) -> None:
    """Copy a row; numba compiles this loop much faster than a slice."""
    for field in range(source.shape[1]):
        target[its, field] = source[row, field]


@njit(cache=True, error_model="numpy")
def _grown(label: Floats, origin: Ints, count: int) -> Any:
    """Make room for a candidate at `count` and the scratch row after it."""
    if count + 1 < label.shape[0]:
        return label, origin
    bigger = np.empty((2 * label.shape[0], label.shape[1]))
    origins = np.empty((2 * label.shape[0], 2), np.int64)
    for row in range(count):
        _copy(label, row, bigger, row)
        origins[row, 0], origins[row, 1] = origin[row, 0], origin[row, 1]
    return bigger, origins


@njit(cache=True, error_model="numpy")
def _insert(label: Floats, origin: Ints, first: int, count: int, nd: int) -> Any:
    """Sort the candidate at `count` into the labels from `first` on; return the new end.

    The row after the candidate is scratch.
    """
    place = first
    while place < count and _before(label, place, label, count, nd):
        if _dominates(label, place, label, count, nd):
            return count
        place += 1
    scratch = count + 1
    _copy(label, count, label, scratch)
    source, choice = origin[count, 0], origin[count, 1]
    kept = place
    for index in range(place, count):  # squeeze out what the candidate dominates
        if not _dominates(label, scratch, label, index, nd):
            if kept != index:
                _copy(label, index, label, kept)
                origin[kept, 0], origin[kept, 1] = origin[index, 0], origin[index, 1]
            kept += 1
    for index in range(kept, place, -1):
        _copy(label, index - 1, label, index)
        origin[index, 0], origin[index, 1] = origin[index - 1, 0], origin[index - 1, 1]
    _copy(label, scratch, label, place)
    origin[place, 0], origin[place, 1] = source, choice
    return kept + 1


@njit(cache=True, error_model="numpy")
def closure(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    start: Ints, label: Floats, nd: int, stride: int, radix: int,
    rest: Floats, gain: Floats, bound: Floats,
) -> Any:  # fmt: skip
    """Pass labels on to the states further along one axis: F(t) = Pareto(F(t), F(t - unit)).

    `rest` and `gain` must hold before the whole operation: a label dropped here goes no further.
    """
    states = start.shape[0] - 1
    out = np.empty((label.shape[0] * 2 + 16, label.shape[1]))
    origin = np.empty((label.shape[0] * 2 + 16, 2), np.int64)
    begin = np.empty(states + 1, np.int64)
    count = start[0]  # 0; typed as an index, so that the helpers compile once
    for state in range(states):
        begin[state] = count
        one, one_end = start[state], start[state + 1]
        two = two_end = start[0]
        if state // stride % radix > 0:
            two, two_end = begin[state - stride], begin[state - stride + 1]
        while one < one_end or two < two_end:
            out, origin = _grown(out, origin, count)
            if two >= two_end or (one < one_end and _before(label, one, out, two, nd)):
                _copy(label, one, out, count)
                origin[count, 0] = one
                one += 1
            else:
                _copy(out, two, out, count)
                origin[count, 0] = origin[two, 0]
                two += 1
            origin[count, 1] = 0
            if _hopeless(out, count, (rest[state], gain[state]), bound):
                continue
            dominated = False
            for kept in range(begin[state], count):
                if _dominates(out, kept, out, count, nd):
                    dominated = True
                    break
            if not dominated:
                count += 1
    begin[states] = count
    return begin, out[:count].copy(), origin[:count].copy()


@njit(cache=True, error_model="numpy")
def deal(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    start: Ints, label: Floats, nd: int, reach: Ints, times: Floats, plus: Floats,
    rest: Floats, gain: Floats, bound: Floats,
) -> Any:  # fmt: skip
    """Apply the choices of one spatial dimension: F(t) = Pareto over c of F(t / lanes_c) * + .

    reach[c, s]: index of the state that choice c leads to from s, or -1; shape (choices, states).
    """
    states = start.shape[0] - 1
    choices = reach.shape[0]
    out = np.empty((label.shape[0] * 2 + 16, label.shape[1]))
    origin = np.empty((label.shape[0] * 2 + 16, 2), np.int64)
    begin = np.empty(states + 1, np.int64)
    count = start[0]  # 0; typed as an index, so that the helpers compile once
    for state in range(states):
        begin[state] = count
        first = count
        for choice in range(choices):
            below = reach[choice, state]
            if below < 0:
                continue
            for index in range(start[below], start[below + 1]):
                out, origin = _grown(out, origin, count)
                for field in range(label.shape[1]):
                    out[count, field] = (
                        label[index, field] * times[choice, field] + plus[choice, field]
                    )
                if _hopeless(out, count, (rest[state], gain[state]), bound):
                    continue
                origin[count, 0] = index
                origin[count, 1] = choice
                count = _insert(out, origin, first, count, nd)
    begin[states] = count
    return begin, out[:count].copy(), origin[:count].copy()


@njit(cache=True, error_model="numpy")
def charge(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    start: Ints, label: Floats, nd: int, fields: Ints, plus: Floats, room: Floats,
    rest: Floats, gain: Floats, bound: Floats,
) -> Any:  # fmt: skip
    """Add plus[i, s] to field fields[i] of every label at s.

    `room` = (field, capacity, reset): labels whose field exceeds the capacity are dropped; with
    reset the field then returns to 0, because nothing above adds to it.
    """
    states = start.shape[0] - 1
    out = np.empty((label.shape[0] + 2, label.shape[1]))
    origin = np.empty((label.shape[0] + 2, 2), np.int64)
    begin = np.empty(states + 1, np.int64)
    count = start[0]  # 0; typed as an index, so that the helpers compile once
    full = int(room[0])
    for state in range(states):
        begin[state] = count
        first = count
        for index in range(start[state], start[state + 1]):
            _copy(label, index, out, count)
            for i in range(fields.shape[0]):
                out[count, fields[i]] += plus[i, state]
            if full >= 0:
                if out[count, full] > room[1]:
                    continue
                if room[2] > 0.0:
                    out[count, full] = 0.0
            if _hopeless(out, count, (rest[state], gain[state]), bound):
                continue
            origin[count, 0] = index
            origin[count, 1] = 0
            count = _insert(out, origin, first, count, nd)
    begin[states] = count
    return begin, out[:count].copy(), origin[:count].copy()


@njit(cache=True, error_model="numpy")
def union(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    start: Ints, label: Floats, source: Ints,
    other_start: Ints, other: Floats, other_source: Ints, nd: int,
) -> Any:  # fmt: skip
    """Merge two tables whose labels descend from the same table (`source`: their origins)."""
    states = start.shape[0] - 1
    total = label.shape[0] + other.shape[0]
    out = np.empty((total + 2, label.shape[1]))
    origin = np.empty((total + 2, 2), np.int64)
    begin = np.empty(states + 1, np.int64)
    count = start[0]  # 0; typed as an index, so that the helpers compile once
    for state in range(states):
        begin[state] = count
        first = count
        for index in range(start[state], start[state + 1]):
            _copy(label, index, out, count)
            origin[count, 0], origin[count, 1] = source[index, 0], source[index, 1]
            count = _insert(out, origin, first, count, nd)
        for index in range(other_start[state], other_start[state + 1]):
            _copy(other, index, out, count)
            origin[count, 0], origin[count, 1] = other_source[index, 0], other_source[index, 1]
            count = _insert(out, origin, first, count, nd)
    begin[states] = count
    return begin, out[:count].copy(), origin[:count].copy()


@njit(cache=True, error_model="numpy")
def least_above(value: Floats, stride: int, radix: int, sign: float) -> None:
    """Replace value[t] by the least (sign 1) or greatest (sign -1) value further along an axis."""
    span = stride * radix
    for block in range(0, value.shape[0], span):
        for digit in range(radix - 2, -1, -1):
            first = block + digit * stride
            for state in range(first, first + stride):
                if sign * value[state + stride] < sign * value[state]:
                    value[state] = value[state + stride]


@njit(cache=True, error_model="numpy")
def deal_above(rest: Floats, gain: Floats, reach: Ints, energy: Floats, lanes: Floats) -> Any:
    """Undo `deal` for the bounds: least energy and most lanes above, per state below."""
    states = rest.shape[0]
    new_rest = np.full(states, np.inf)
    new_gain = np.zeros(states)
    for choice in range(reach.shape[0]):
        for state in range(states):
            below = reach[choice, state]
            if below >= 0:
                new_rest[below] = min(new_rest[below], rest[state] + energy[choice])
                new_gain[below] = max(new_gain[below], gain[state] * lanes[choice])
    return new_rest, new_gain
