"""The steps of the dynamic program over labels, for numba; kernels.py calls them and says more.

They make no arrays: their callers give them room for the results, so that their machine code needs
nothing of numba. `job` = (leading fields `nd`, states done, labels made). `out` and `origin` have
room for two rows more than there are labels; a kernel that runs out of room writes into `job` how
far it came, and goes on from there when it is called again with more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit

from tilewright.mapper.searches.exact.kernels import Bools, Floats, Ints

F = TypeVar("F", bound=Callable[..., object])


class PruningArrays(NamedTuple):
    """What is ahead of labels, and which of them are hopeless: see kernels.py."""

    rest: Floats
    gain: Floats
    bound: Floats
    seconds: Floats
    paces: Floats


def compiled(function: F) -> F:
    """Compile a function to machine code that knows neither Python's objects nor numba's."""
    compiler: Any = njit
    bare = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, compiler(error_model="numpy", **bare)(function))


@compiled
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


@compiled
def _hopeless(label: Floats, row: int, state: int, view: PruningArrays) -> Any:
    rest, gain, bound, seconds, paces = view
    energy = label[row, 0] + rest[state]
    if not energy < np.inf:
        return True
    if bound[0] == 0.0 and bound[2] == 0.0:
        return energy > bound[1]
    lanes = -label[row, int(bound[6])] * gain[state]
    if lanes <= 0.0:
        return True
    latency = max(bound[3] + bound[4] / lanes, bound[5])
    for i in range(paces.shape[0]):
        calls = label[row, int(paces[i, 0])]
        own = calls * (paces[i, 1] if calls > 0.0 else paces[i, 2])
        latency = max(latency, paces[i, 3] + own + seconds[i, state])
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


@compiled
def _dominates(label: Floats, row: int, other: Floats, its: int, nd: int) -> Any:
    for field in range(nd):  # noqa: SIM110 - numba compiles the loop, not all()
        if label[row, field] > other[its, field]:
            return False
    return True


@compiled
def _before(label: Floats, row: int, other: Floats, its: int, nd: int) -> Any:
    for field in range(nd):
        if label[row, field] != other[its, field]:
            return label[row, field] < other[its, field]
    return True


@compiled
def _copy(source: Floats, row: int, target: Floats, its: int) -> None:
    """Copy a row; numba compiles this loop much faster than a slice."""
    for field in range(source.shape[1]):
        target[its, field] = source[row, field]


@compiled
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


@compiled
def closure(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    job: Ints, start: Ints, label: Floats, stride: int, radix: int,
    view: PruningArrays, begin: Ints, out: Floats, origin: Ints,
) -> None:  # fmt: skip
    """Pass labels on to the states further along one axis: F(t) = Pareto(F(t), F(t - unit))."""
    nd, done, count = job
    span = stride * radix
    place = done % span  # counted along: a division per state would take most of the time
    for state in range(done, start.shape[0] - 1):
        begin[state] = count
        one, one_end = start[state], start[state + 1]
        two = two_end = start[0]
        if place >= stride:
            two, two_end = begin[state - stride], begin[state - stride + 1]
        place = place + 1 if place + 1 < span else 0
        while one < one_end or two < two_end:
            if count + 2 > out.shape[0]:
                job[1], job[2] = state, begin[state]
                return
            if two >= two_end or (one < one_end and _before(label, one, out, two, nd)):
                _copy(label, one, out, count)
                origin[count, 0] = one
                one += 1
            else:
                _copy(out, two, out, count)
                origin[count, 0] = origin[two, 0]
                two += 1
            origin[count, 1] = 0
            if _hopeless(out, count, state, view):
                continue
            dominated = False
            for kept in range(begin[state], count):
                if _dominates(out, kept, out, count, nd):
                    dominated = True
                    break
            if not dominated:
                count += 1
    _end(job, begin, count)


@compiled
def distribute(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    job: Ints, start: Ints, label: Floats, reach: Ints, linear: Floats, fares: Floats,
    view: PruningArrays, begin: Ints, out: Floats, origin: Ints,
) -> None:  # fmt: skip
    """Apply the choices of one spatial dimension: F(t) = Pareto over c of F(t / lanes_c) * + ."""
    nd, _, count = job
    width, charged = label.shape[1], fares.shape[0] // reach.shape[0]
    for state in range(job[1], start.shape[0] - 1):
        begin[state] = first = count
        for choice in range(reach.shape[0]):
            below = reach[choice, state]
            if below < 0:
                continue
            for index in range(start[below], start[below + 1]):
                if count + 2 > out.shape[0]:
                    job[1], job[2] = state, first
                    return
                for field in range(width):
                    out[count, field] = (
                        label[index, field] * linear[choice, field] + linear[choice, width + field]
                    )
                for row in range(choice * charged, (choice + 1) * charged):
                    field = int(fares[row, 0])
                    out[count, field] += fares[row, 1 + below] * linear[choice, field]
                if _hopeless(out, count, state, view):
                    continue
                origin[count, 0] = index
                origin[count, 1] = choice
                count = _insert(out, origin, first, count, nd)
    _end(job, begin, count)


@compiled
def charge(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    job: Ints, start: Ints, label: Floats, fields: Ints, plus: Floats, room: Floats,
    view: PruningArrays, begin: Ints, out: Floats, origin: Ints,
) -> None:  # fmt: skip
    """Add plus[i, s] to field fields[i] of every label at s, and drop what has no room."""
    nd, _, count = job
    full = int(room[0])
    for state in range(start.shape[0] - 1):
        begin[state] = first = count
        for index in range(start[state], start[state + 1]):
            _copy(label, index, out, count)
            for i in range(fields.shape[0]):
                out[count, fields[i]] += plus[i, state]
            if full >= 0:
                if out[count, full] > room[1]:
                    continue
                if room[2] > 0.0:
                    out[count, full] = 0.0
            if _hopeless(out, count, state, view):
                continue
            origin[count, 0] = index
            origin[count, 1] = 0
            count = _insert(out, origin, first, count, nd)
    _end(job, begin, count)


@compiled
def union(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    job: Ints, start: Ints, label: Floats, source: Ints,
    other_start: Ints, other: Floats, other_source: Ints,
    begin: Ints, out: Floats, origin: Ints,
) -> None:  # fmt: skip
    """Merge two tables whose labels descend from the same table (`source`: their origins)."""
    nd, _, count = job
    for state in range(start.shape[0] - 1):
        begin[state] = first = count
        for index in range(start[state], start[state + 1]):
            _copy(label, index, out, count)
            origin[count, 0], origin[count, 1] = source[index, 0], source[index, 1]
            count = _insert(out, origin, first, count, nd)
        for index in range(other_start[state], other_start[state + 1]):
            _copy(other, index, out, count)
            origin[count, 0], origin[count, 1] = other_source[index, 0], other_source[index, 1]
            count = _insert(out, origin, first, count, nd)
    _end(job, begin, count)


@compiled
def _end(job: Ints, begin: Ints, count: int) -> None:
    """Note that all states are done."""
    states = begin.shape[0] - 1
    begin[states] = count
    job[1], job[2] = states, count


@compiled
def least_above(value: Floats, stride: int, radix: int, sign: float) -> None:
    """Replace value[t] by the least (sign 1) or greatest (sign -1) value further along an axis."""
    span = stride * radix
    for block in range(0, value.shape[0], span):
        for state in range(block + span - stride - 1, block - 1, -1):
            if sign * value[state + stride] < sign * value[state]:
                value[state] = value[state + stride]


@compiled
def undo_distribute(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    rest: Floats, gain: Floats, reach: Ints, energy: Floats, lanes: Floats,
    new_rest: Floats, new_gain: Floats,
) -> None:  # fmt: skip
    """Undo `deal` for the bounds: least energy and most lanes above, per state below."""
    for choice in range(reach.shape[0]):
        for state in range(rest.shape[0]):
            below = reach[choice, state]
            if below >= 0:
                new_rest[below] = min(new_rest[below], rest[state] + energy[choice, below])
                new_gain[below] = max(new_gain[below], gain[state] * lanes[choice])


@compiled
def first_of_groups(groups: Ints, values: Floats, slack: float, front: Ints, kept: Bools) -> None:
    """Mark in `kept` the rows that no earlier row of their group dominates; `front` is scratch."""
    size = 0
    for row in range(values.shape[0]):
        if row > 0 and groups[row] != groups[row - 1]:
            size = 0
        kept[row] = True
        for place in range(size):
            smaller = True
            for column in range(values.shape[1]):
                if values[front[place], column] > values[row, column] * slack:
                    smaller = False
                    break
            if smaller:
                kept[row] = False
                break
        if kept[row]:
            front[size] = row
            size += 1
