"""The steps of the dynamic program over labels, for numba; kernels.py documents and calls them.

The kernels allocate no arrays: callers pass arrays for the results, so that the machine code runs
without numba. `job` = (leading fields `nd`, states done, labels made, labels that may still be
looked at, number of the corner that dropped a label last). `results` must have two rows more than
there are labels. A kernel that runs out of rows writes its progress into `job`, and continues there
when it is called again with longer arrays; closure() begins anew. It ends where job[3] falls below
0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from tilewright.mapper.searches.exact.kernels import (
    Bools,
    ChargeArrays,
    ChoiceRows,
    Floats,
    Ints,
    LabelRows,
    LabelTable,
    PruningArrays,
)

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile a function to machine code that needs neither Python nor numba to run.

    It must take and fill arrays, and make none.
    """
    compiler: Any = njit
    bare = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, compiler(error_model="numpy", **bare)(function))


def inlined(function: F) -> F:
    """Compile a function into those that call it: to pass its arrays takes longer than it does."""
    compiler: Any = njit
    bare = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, compiler(error_model="numpy", forceinline=True, **bare)(function))


@inlined
def _is_covered(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    job: Ints, label: Floats, row: int, state: int, energy: float, latency: float,
    pruning: PruningArrays,
) -> Any:  # fmt: skip
    """Tell whether the label in `row`, at tile `state`, is at or above some corner in all metrics.

    `energy`, `latency`: its lower bounds in joule and second. The corner that covered the label
    before is tried first: job[4] is its number. The row after `row` is scratch.
    """
    limits, n_prices = pruning.limits, pruning.further.shape[0]
    size = 2 + int(limits[9]) + n_prices
    first = 9 + size
    n_corners = int(limits[8])
    if n_corners == 0 or limits[first] > energy:  # corners are sorted by energy
        return False
    if n_prices > 0:
        _fill_further(label, row, state, limits[2] * latency, pruning)
    if _is_above(label, row, first + job[4] * size, energy, latency, pruning):
        return True
    for number in range(n_corners):
        corner = first + number * size
        if limits[corner] > energy:
            return False
        if _is_above(label, row, corner, energy, latency, pruning):
            job[4] = number
            return True
    return False


@inlined
def _is_above(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    label: Floats, row: int, corner: int, energy: float, latency: float, pruning: PruningArrays
) -> Any:
    """Tell whether a label is at or above a corner in all metrics.

    The label is in `row`, its joules at further prices in the row after it; `energy`, `latency`:
    its lower bounds in joule and second. `corner`: place of the corner in the limits.
    """
    limits, n_bits = pruning.limits, int(pruning.limits[9])
    if limits[corner] > energy or limits[corner + 1] > latency:
        return False
    corner += 2
    for i in range(n_bits):
        if limits[corner + i] > label[row, int(limits[11 + i])]:
            return False
    corner += n_bits
    for i in range(pruning.further.shape[0]):  # noqa: SIM110 - numba compiles the loop, not all()
        if limits[corner + i] > label[row + 1, i]:
            return False
    return True


@inlined
def _fill_further(
    label: Floats, row: int, state: int, leakage: float, pruning: PruningArrays
) -> None:
    """Write the least joules, at each further price, of any mapping with a label.

    The label is in `row`, at tile `state`; the joules go to the row after it. `leakage`: joules to
    add to each.
    """
    limits, carried, further = pruning.limits, pruning.carried, pruning.further
    n_prices, lanes = further.shape[0], max(pruning.lanes[state], 1.0)
    first, deferred = 11 + int(limits[9]), int(limits[10])
    for number in range(n_prices):
        label[row + 1, number] = 0.0
    for i in range(carried.shape[0]):
        least, greatest = max(carried[i, 1], 1.0 / lanes), min(carried[i, 2], lanes)
        shift = int(carried[i, 0]) + 1 - deferred
        for number in range(n_prices):
            joules = label[row, int(limits[first + number]) + shift]
            label[row + 1, number] += joules * (least if joules > 0.0 else greatest)
    for number in range(n_prices):
        energy = label[row, int(limits[first + number])] + further[number, state]
        label[row + 1, number] = energy + label[row + 1, number] + leakage


@inlined
def _least_carried(label: Floats, row: int, lanes: float, carried: Floats) -> Any:
    """Return the least joules that the label in `row` will pay of what it carries.

    Each choice of lanes multiplies by a factor from 1 / lanes to lanes; `lanes`: the most to come.
    """
    total = 0.0
    lanes = max(lanes, 1.0)
    for i in range(carried.shape[0]):
        joules = label[row, int(carried[i, 0])]
        if joules > 0.0:
            total += joules * max(carried[i, 1], 1.0 / lanes)
        else:
            total += joules * min(carried[i, 2], lanes)
    return total


@inlined
def _is_pruned(job: Ints, label: Floats, row: int, state: int, pruning: PruningArrays) -> Any:
    """Tell whether no mapping with the label in `row`, at tile `state`, can meet the limits.

    The row after `row` is scratch.
    """
    remaining_energy, remaining_lanes, limits, seconds, terms, carried, _ = pruning
    energy = label[row, 0] + remaining_energy[state]
    if not energy < np.inf:
        return True
    if carried.shape[0] > 0:
        energy += _least_carried(label, row, remaining_lanes[state], carried)
    if limits[0] == 0.0 and limits[2] == 0.0:
        return energy > limits[1]
    lanes = -label[row, int(limits[6])] * remaining_lanes[state]
    if lanes <= 0.0:
        return True
    latency = max(limits[3] + limits[4] / lanes, limits[5])
    for i in range(terms.shape[0]):
        calls = label[row, int(terms[i, 0])]
        spent = calls * (terms[i, 1] if calls > 0.0 else terms[i, 2])
        latency = max(latency, terms[i, 3] + spent + seconds[i, state])
    energy += limits[2] * latency
    if energy > limits[7]:
        return True
    if limits[0] == 0.0:
        return energy > limits[1]
    if limits[0] == 1.0:
        return latency > limits[1]
    if limits[0] == 3.0:
        return _is_covered(job, label, row, state, energy, latency, pruning)
    return energy * latency > limits[1]


@inlined
def _dominates(label: Floats, row: int, other_label: Floats, other_row: int, nd: int) -> Any:
    """Tell whether a label is at most another one in each of its first `nd` fields.

    They are label[row] and other_label[other_row].
    """
    for field in range(nd):  # noqa: SIM110 - numba compiles the loop, not all()
        if label[row, field] > other_label[other_row, field]:
            return False
    return True


@inlined
def _before(label: Floats, row: int, other_label: Floats, other_row: int, nd: int) -> Any:
    """Tell whether a label comes before another by their first `nd` fields, or equals it.

    They are label[row] and other_label[other_row]; the order is lexicographic.
    """
    for field in range(nd):
        if label[row, field] != other_label[other_row, field]:
            return label[row, field] < other_label[other_row, field]
    return True


@inlined
def _copy(source: Floats, row: int, target: Floats, target_row: int) -> None:
    """Copy a row; numba compiles this loop much faster than a slice."""
    for field in range(source.shape[1]):
        target[target_row, field] = source[row, field]


@inlined
def _insert(label: Floats, origin: Ints, first: int, count: int, job: Ints) -> Any:
    """Insert the candidate in row `count` into the sorted labels in rows `first` … count - 1.

    `origin`: origins of the labels, moved along with them. `job`: of the kernel. Labels dominated
    in the first `nd` fields are dropped, the candidate, too. Returns the row after the last label.
    The row after the candidate is scratch.
    """
    nd, place = job[0], first
    while place < count and _before(label, place, label, count, nd):
        if _dominates(label, place, label, count, nd):
            job[3] -= place - first
            return count
        place += 1
    job[3] -= count - first
    scratch = count + 1
    _copy(label, count, label, scratch)
    source, choice = origin[count, 0], origin[count, 1]
    end = place
    for index in range(place, count):  # remove the labels that the candidate dominates
        if not _dominates(label, scratch, label, index, nd):
            if end != index:
                _copy(label, index, label, end)
                origin[end, 0], origin[end, 1] = origin[index, 0], origin[index, 1]
            end += 1
    for index in range(end, place, -1):
        _copy(label, index - 1, label, index)
        origin[index, 0], origin[index, 1] = origin[index - 1, 0], origin[index - 1, 1]
    _copy(label, scratch, label, place)
    origin[place, 0], origin[place, 1] = source, choice
    return end + 1


@compiled
def closure(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    job: Ints, table: LabelRows, axes: Ints, pruning: PruningArrays, results: LabelTable,
    scratch: LabelTable,
) -> None:  # fmt: skip
    """Extend labels by loops along some axes, one after the other: from each tile to larger ones.

    A label is a row of costs of a partial mapping at a tile t. kernels.closure documents the
    arguments; `results` gets the labels, `scratch` those of every second axis before.
    """
    n_axes = axes.shape[0]
    for number in range(n_axes):
        job[1] = job[2] = 0
        if (n_axes - number) % 2 == 0 and number == 0:
            _along_axis(job, table, results.origin, axes, number, pruning, scratch)
        elif (n_axes - number) % 2 == 0:
            rows = LabelRows(results.start, results.label)
            _along_axis(job, rows, results.origin, axes, number, pruning, scratch)
        elif number == 0:
            _along_axis(job, table, scratch.origin, axes, number, pruning, results)
        else:
            rows = LabelRows(scratch.start, scratch.label)
            _along_axis(job, rows, scratch.origin, axes, number, pruning, results)
        if job[3] < 0 or job[1] < table.start.shape[0] - 1:
            return
    for row in range(job[2]):
        results.origin[row, 1] = 0


@compiled
def _along_axis(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    job: Ints, table: LabelRows, came: Ints, axes: Ints, number: int, pruning: PruningArrays,
    results: LabelTable,
) -> None:  # fmt: skip
    """Extend labels by a loop along axis `number`: F(t) = Pareto(F(t), F(t - unit)).

    `came`: where the labels of `table` came from, unless the axis is the first one. In neither set
    does a label dominate another: it is compared with those of the other set, which origin[:, 1]
    tells.
    """
    (start, label), (begin, out, origin) = table, results
    stride, span = axes[number, 0], axes[number, 0] * axes[number, 1]
    nd, count = job[0], job[2]
    place = 0  # counted along: a modulo per state would take most of the time
    for state in range(start.shape[0] - 1):
        begin[state] = count
        index, end_index = start[state], start[state + 1]
        previous = end_previous = start[0]
        if place >= stride:
            previous, end_previous = begin[state - stride], begin[state - stride + 1]
        place = place + 1 if place + 1 < span else 0
        while index < end_index or previous < end_previous:
            if count + 2 > out.shape[0]:
                job[1], job[2] = state, begin[state]
                return
            if previous >= end_previous or (
                index < end_index and _before(label, index, out, previous, nd)
            ):
                _copy(label, index, out, count)
                origin[count, 0] = index if number == 0 else came[index, 0]
                origin[count, 1] = 0
                index += 1
            else:
                _copy(out, previous, out, count)
                origin[count, 0] = origin[previous, 0]
                origin[count, 1] = 1
                previous += 1
            job[3] -= 1
            if _is_far(job, out, count, state, pruning):
                continue
            earlier = begin[state]
            while earlier < count and (
                origin[earlier, 1] == origin[count, 1]
                or not _dominates(out, earlier, out, count, nd)
            ):
                earlier += 1
            job[3] -= earlier - begin[state]
            if job[3] < 0:
                return
            if earlier == count:
                count += 1
    _finish(job, begin, count)


@inlined
def _is_far(job: Ints, label: Floats, row: int, state: int, pruning: PruningArrays) -> Any:
    """Tell whether no mapping with a label can meet the limits; as far as it is quickly told.

    The label is in `row`, at tile `state`; the row after it is scratch. At several prices hardly a
    label goes here that did not go before.
    """
    if pruning.further.shape[0] == 0:
        return _is_pruned(job, label, row, state, pruning)
    return not label[row, 0] + pruning.energy[state] < np.inf


@inlined
def _extend(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    out: Floats, row: int, label: Floats, index: int, choices: ChoiceRows, choice: int, source: int
) -> None:
    """Fill a row of `out` with a label as a choice of lanes changes it; `source`: its tile."""
    _, linear, charges = choices
    for field in range(label.shape[1]):
        out[row, field] = label[index, field] * linear[2 * choice, field]
        out[row, field] += linear[2 * choice + 1, field]
    n_charges = 2 * charges.shape[0] // linear.shape[0]
    for charge in range(choice * n_charges, (choice + 1) * n_charges):
        field = int(charges[charge, 0])
        out[row, field] += charges[charge, 1 + source] * linear[2 * choice, field]


@compiled
def distribute(
    job: Ints, table: LabelRows, choices: ChoiceRows, pruning: PruningArrays, results: LabelTable
) -> None:
    """Extend labels by all choices of lanes of a dimension, with factors and amounts of each.

    F(t) = Pareto over c of F(t / lanes_c), a label being a row of costs of a partial mapping at
    tile t. kernels.distribute documents the arguments; `results` gets the labels. A lane is one
    instance along a dimension of a fanout.
    """
    (start, label), (begin, out, origin) = table, results
    sources, count = choices.sources, job[2]
    for state in range(job[1], start.shape[0] - 1):
        begin[state] = first = count
        if not pruning.energy[state] < np.inf:
            continue
        for choice in range(sources.shape[1]):
            source = sources[state, choice]
            if source < 0:
                continue
            for index in range(start[source], start[source + 1]):
                if count + 2 > out.shape[0]:
                    job[1], job[2] = state, first
                    return
                _extend(out, count, label, index, choices, choice, source)
                job[3] -= 1
                if _is_pruned(job, out, count, state, pruning):
                    continue
                origin[count, 0] = index
                origin[count, 1] = choice
                count = _insert(out, origin, first, count, job)
                if job[3] < 0:
                    return
    _finish(job, begin, count)


@inlined
def _overflows(label: Floats, row: int, capacity: Floats) -> Any:
    """Tell whether the label in `row` needs more bits of some memory than it has.

    `capacity`: as in ChargeArrays. Columns to which nothing above adds return to 0.
    """
    for i in range(0, capacity.shape[0], 3):
        bits = int(capacity[i])
        if bits >= 0:
            if label[row, bits] > capacity[i + 1]:
                return True
            if capacity[i + 2] > 0.0:
                label[row, bits] = 0.0
    return False


@compiled
def charge(
    job: Ints, table: LabelRows, costs: ChargeArrays, pruning: PruningArrays, results: LabelTable
) -> None:
    """Add amounts[i, s] to column fields[i] of every label at tile s; drop what overflows.

    A label is a row of costs of a partial mapping. `results` gets the labels that are left.
    """
    (start, label), (begin, out, origin) = table, results
    fields, amounts, capacity = costs
    count = job[2]
    for state in range(start.shape[0] - 1):
        begin[state] = first = count
        if not amounts[0, state] + pruning.energy[state] < np.inf:  # the first are joules
            continue
        for index in range(start[state], start[state + 1]):
            _copy(label, index, out, count)
            for i in range(fields.shape[0]):
                out[count, fields[i]] += amounts[i, state]
            if _overflows(out, count, capacity):
                continue
            job[3] -= 1
            if _is_pruned(job, out, count, state, pruning):
                continue
            origin[count, 0] = index
            origin[count, 1] = 0
            count = _insert(out, origin, first, count, job)
            if job[3] < 0:
                return
    _finish(job, begin, count)


@compiled
def union(job: Ints, left: LabelTable, right: LabelTable, results: LabelTable) -> None:
    """Merge two tables of labels that came from the same table into a third, by tile.

    A label is a row of costs of a partial mapping; dominated ones go.
    """
    (start, label, source), (begin, out, origin) = left, results
    other_start, other_label, other_source = right
    count = job[2]
    for state in range(start.shape[0] - 1):
        begin[state] = first = count
        for index in range(start[state], start[state + 1]):
            _copy(label, index, out, count)
            origin[count, 0], origin[count, 1] = source[index, 0], source[index, 1]
            count = _insert(out, origin, first, count, job)
        for index in range(other_start[state], other_start[state + 1]):
            _copy(other_label, index, out, count)
            origin[count, 0], origin[count, 1] = other_source[index, 0], other_source[index, 1]
            count = _insert(out, origin, first, count, job)
        if job[3] < 0:
            return
    _finish(job, begin, count)


@compiled
def _finish(job: Ints, begin: Ints, count: int) -> None:
    """Write into `job` that all states are done and `count` labels made; end `begin` with it."""
    states = begin.shape[0] - 1
    begin[states] = count
    job[1], job[2] = states, count


@compiled
def least_above(value: Floats, stride: int, radix: int, sign: float) -> None:
    """Replace each value by the least (sign 1) or greatest (-1) over its tile and larger ones.

    In place, along one axis of the lattice of tiles: `stride` and `radix` are the axis's.
    """
    span = stride * radix
    for block in range(0, value.shape[0], span):
        for state in range(block + span - stride - 1, block - 1, -1):
            if sign * value[state + stride] < sign * value[state]:
                value[state] = value[state + stride]


@compiled
def undo_distribute(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    energy: Floats, lanes: Floats, below: Ints, choice_energy: Floats, choice_lanes: Floats,
    energy_below: Floats, lanes_below: Floats,
) -> None:  # fmt: skip
    """Fill in the least energy (J) and most lanes over all choices, per tile below them.

    `energy`, `lanes`: the same above the dimension; `below`: tile of one lane, or -1. A lane is
    one instance along a dimension of a fanout.
    """
    varies = choice_energy.shape[1] > 1  # by tile
    for choice in range(below.shape[0]):
        for state in range(energy.shape[0]):
            source = below[choice, state]
            if source >= 0:
                remaining = energy[state] + choice_energy[choice, source if varies else 0]
                energy_below[source] = min(energy_below[source], remaining)
                lanes_below[source] = max(lanes_below[source], lanes[state] * choice_lanes[choice])


@compiled
def first_of_groups(
    groups: Ints, values: Floats, slack: float, front: Ints, is_first: Bools
) -> None:
    """Mark the rows that no earlier row of their group dominates.

    `groups` and `values` are sorted rows; an earlier row dominates if none of its values is above
    `slack` times the later one's. `front` is scratch, `is_first` gets the result.
    """
    size = 0
    for row in range(values.shape[0]):
        if row > 0 and groups[row] != groups[row - 1]:
            size = 0
        is_first[row] = True
        for place in range(size):
            dominated = True
            for column in range(values.shape[1]):
                if values[front[place], column] > values[row, column] * slack:
                    dominated = False
                    break
            if dominated:
                is_first[row] = False
                break
        if is_first[row]:
            front[size] = row
            size += 1
