"""The compiled steps of the dynamic program over labels.

A table is a pair (start, label): the labels of state s are label[start[s]:start[s+1]], shape
(labels, fields), sorted lexicographically by their first `nd` fields, none of them dominated by
another in those fields. Field 0 is the dynamic energy (label_fields.py lists all). Each step
returns the new table with the origin of each label, shape (labels, 2): the index of the label that
it came from, and the number of the spatial choice.

`limits` of PruningArrays, shape (8,), or longer for FRONT:

| index | meaning |
|---|---|
| 0 | kind: ENERGY, LATENCY, EDP or FRONT |
| 1 | limit of the objective (J, s or J s); labels that cannot come out at or below it go |
| 2 | watts: price and least leakage, joule per second |
| 3 | seconds of the Compute without any step |
| 4 | seconds of all steps on one lane |
| 5 | lower bound of the latency (s) |
| 6 | field of the lanes |
| 7 | most energy of interest (J) |

For kind FRONT the limit is a set of corner points instead. Behind the eight numbers stand their
count, the count of fields of used bits, the first field of deferred energy, the fields of used
bits, those of energy at further prices, and per corner (energy, latency, bits ..., energies ...),
in the order of energy. A label goes if for some corner none of its numbers can come out below the
corner's.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.arch.compiled import Kernel, LongKernel
from tilewright.mapper.searches.budget import EndReason, OutOfBudget, WorkLeft

if TYPE_CHECKING:
    from tilewright.mapper.mapspace.lattice import LatticeAxis

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
LabelArrays = tuple[Ints, Floats]  # start, label
ENERGY, LATENCY, EDP, FRONT = 0.0, 1.0, 2.0, 3.0
_ANY_WORK: Final = 1 << 62
_latest_job: Final[dict[int, Ints]] = {}  # of a kernel, by thread


class PruningArrays(NamedTuple):
    """What a step of the dynamic program needs to drop labels that cannot lead to a good mapping.

    A label is a partial mapping's tuple of costs at a tile (state). `energy`, shape (states,):
    least joules still to be paid (inf: the tile cannot grow to the whole iteration space).
    `lanes`, shape (states,): most lanes still to come. `limits`, shape (8,) or longer: kind of
    objective, its limit and the like (table in this module's docstring). `seconds`, shape
    (components, states): least seconds still to be added to a component. `terms`, shape
    (components, 4): field, seconds of one unit of it when the most lanes to come divide it, the
    same when none do, seconds in any case. `carried`, shape (fields, 3): field of joules that a
    label carries until lanes are known, the least and the greatest factor that they still get.
    `further`, shape (prices, states): least joules still to be paid at further prices.
    """

    energy: Floats
    lanes: Floats
    limits: Floats
    seconds: Floats
    terms: Floats
    carried: Floats
    further: Floats = np.zeros((0, 0))


class LabelRows(NamedTuple):
    """The labels before a step (cost tuples of partial mappings), as in a LabelTable."""

    start: Ints
    label: Floats


class LabelTable(NamedTuple):
    """The labels of all tiles after some step of the dynamic program, sorted by tile.

    A label is a partial mapping's tuple of costs. `start`, shape (states + 1,): the labels of tile
    s are rows start[s] to start[s + 1] - 1. `label`, shape (labels, fields): the costs. `origin`,
    shape (labels, 2): row in the table before, and number of the choice of lanes; empty if both
    tables have the same rows. A lane is one instance along a dimension of a fanout.
    """

    start: Ints
    label: Floats
    origin: Ints


class ChoiceArrays(NamedTuple):
    """The choices of lanes (instances) of one spatial dimension, for a step of the program.

    `below`, shape (choices, states): the tile of one lane for each tile above, or -1. `linear`,
    shape (choices, 2 x fields): what a choice multiplies each field of a label (tuple of costs)
    by, then what it adds. `charges`, shape (choices x rows, 1 + states): before that, field and
    amount to add at each tile below. `lanes`, shape (choices,): lanes in all. `sources`, shape
    (states, choices): `below` by tile, if it is at hand.
    """

    below: Ints
    linear: Floats
    charges: Floats
    lanes: Floats
    sources: Ints | None = None

    def rows(self) -> ChoiceRows:
        """Return these arrays as the compiled step takes them."""
        sources = np.ascontiguousarray(self.below.T) if self.sources is None else self.sources
        return ChoiceRows(sources, self.linear.reshape(2 * len(self.linear), -1), self.charges)

    def energy(self, width: int) -> Floats:
        """Return the joules of each choice of lanes at each tile below.

        Shape (choices, states), or (choices, 1) where the tile does not matter. `width`: number of
        fields (costs) of a label. A label is the tuple of costs of a partial
        mapping; a lane is one instance along a dimension of a fanout.
        """
        added = self.linear[:, width : width + 1].copy()
        rows = len(self.charges) // len(self.below)  # of each choice, the row of the energy first
        return added + self.charges[::rows, 1:] if rows else added

    def only(self, chosen: Bools) -> ChoiceArrays:
        """Return the arrays of some of the choices of lanes.

        `chosen`: which, shape (choices,). A lane is one instance along a dimension of a fanout.
        """
        rows = np.repeat(chosen, len(self.charges) // len(self.below))
        linear, lanes = self.linear[chosen], self.lanes[chosen]
        return ChoiceArrays(self.below[chosen], linear, self.charges[rows], lanes)


class ChoiceRows(NamedTuple):
    """The choices of lanes of one spatial dimension, as a compiled step goes through them.

    `sources`, shape (states, choices): the tile of one lane, or -1. `linear`, shape (2 x choices,
    fields): of each choice, what it multiplies each field of a label (tuple of costs) by, then what
    it adds. `charges`: as in ChoiceArrays. A lane is one instance along a dimension of a fanout.
    """

    sources: Ints
    linear: Floats
    charges: Floats


class ChargeArrays(NamedTuple):
    """Costs of steps of the program that depend on the tile, and capacities to check.

    `amounts`, shape (fields, states), are added to the `fields` of labels (tuples of costs).
    `capacity` = (field, bits, reset), for each capacity: labels whose field exceeds the bits are
    dropped; with reset the field then returns to 0, because nothing above adds to it. Field -1: no
    capacity.
    """

    fields: Ints
    amounts: Floats
    capacity: Floats


_HOME: Final = "tilewright.mapper.searches.exact.label_kernels"
_I1, _I2, _F1, _F2 = "int64[::1]", "int64[:, ::1]", "float64[::1]", "float64[:, ::1]"
_RECORDS: Final = {
    "LabelRows": f"{_I1}, {_F2}",
    "LabelTable": f"{_I1}, {_F2}, {_I2}",
    "ChoiceRows": f"{_I2}, {_F2}, {_F2}",
    "ChargeArrays": f"{_I1}, {_F2}, {_F1}",
    "PruningArrays": f"{_F1}, {_F1}, {_F1}, {_F2}, {_F2}, {_F2}, {_F2}",
}


def _kernel(name: str, *arguments: str) -> Kernel:
    return Kernel(_HOME, name, f"void({', '.join(arguments)})", records=_RECORDS)


def _step(name: str, arguments: str) -> LongKernel:
    """Return a kernel that takes a job first, so that another thread can end it."""
    return LongKernel(_HOME, name, f"void({_I1}, {arguments})", records=_RECORDS)


_closure = _step("closure", f"LabelRows, {_I2}, PruningArrays, LabelTable, LabelTable")
_distribute = _step("distribute", "LabelRows, ChoiceRows, PruningArrays, LabelTable")
_charge = _step("charge", "LabelRows, ChargeArrays, PruningArrays, LabelTable")
_union = _step("union", "LabelTable, LabelTable, LabelTable")
_first_of_groups = _kernel("first_of_groups", _I1, _F2, "float64", _I1, "bool[::1]")
_undo_distribute = _kernel("undo_distribute", _F1, _F1, _I2, _F2, _F1, _F1, _F1)
least_above = _kernel("least_above", _F1, "int64, int64, float64")
"""least_above(value, stride, radix, sign): in place, per state the least (sign 1) or greatest (-1)
value of itself and the states further along an axis."""

SEARCH_KERNELS: Final = (
    _closure, _distribute, _charge, _union, _first_of_groups, _undo_distribute, least_above,
)  # fmt: skip
"""All kernels of a search."""


def least_along(values: Floats, axes: Iterable[LatticeAxis], sign: float = 1.0) -> Floats:
    """Return the least (sign 1) or greatest (-1) value of each tile and of all larger ones.

    `values`, shape (states,) or (rows, states); `axes`: of the lattice, along which tiles are
    larger.
    """
    least = values.copy()
    flat = least.reshape(-1)  # all rows in one call: rows are whole lattices
    for axis in axes:
        least_above(flat, axis.stride, axis.radix, sign)
    return least


def closure(
    table: LabelArrays,
    nd: int,
    axes: Ints,
    pruning: PruningArrays,
    work: WorkLeft | None = None,
) -> LabelTable:
    """Extend labels by loops along some axes: from each tile to all larger ones on these axes.

    A label is a row of costs of a partial mapping; a tile keeps those that no other dominates in
    the first `nd` fields: F(t) = Pareto(F(t), F(t / prime)). `table`: (start, label), the labels
    of tile s being label[start[s]:start[s+1]]. `axes`, shape (axes, 2): of the lattice of tiles,
    along each of which one prime factor of one variable grows: difference of the indices of tiles
    one step apart, number of values. `pruning` must hold before the whole step: a label dropped
    here goes no further. Result: start, label, and the origin of each label, shape (labels, 2).
    `work`: what is left of a limit; OutOfBudget when it is used up.
    """
    start, label = table
    capacity = 3 * len(label) + 64
    while True:
        job = _new_job(nd, work)
        results = _new_rows(table, capacity)
        scratch = _new_rows(table, capacity if len(axes) > 1 else 0)
        _closure(job, table, axes, pruning, results, scratch)
        states, count = job[1:3].tolist()
        if states == len(start) - 1 or job[3] < 0:
            _take(work, job)
            return _filled(results, count)
        capacity *= 2


def distribute(
    table: LabelArrays,
    nd: int,
    choices: ChoiceArrays,
    pruning: PruningArrays,
    work: WorkLeft | None = None,
) -> LabelTable:
    """Extend labels by the spatial loops of one dimension, for all its choices of lanes.

    A label is a row of costs of a partial mapping. The labels at a tile come, for each choice,
    from the tile of one lane, with costs multiplied and added: F(t) = Pareto over c of F(t /
    lanes_c). `table`: (start, label), rows by tile; they are compared by the first `nd` fields.
    Result: start, label, and the origin of each label with the number of its choice, shape
    (labels, 2). `work`: what is left of a limit; OutOfBudget when it is used up. A lane is one
    instance along a dimension of a fanout.
    """

    return _run(_distribute, (table, choices.rows(), pruning), nd, work)


def charge(
    table: LabelArrays,
    nd: int,
    costs: ChargeArrays,
    pruning: PruningArrays,
    work: WorkLeft | None = None,
) -> LabelTable:
    """Add costs that depend on the tile to all labels; drop labels beyond a capacity.

    A label is a row of costs of a partial mapping: amounts[i, s] goes to field fields[i] of each
    label at tile s. `table`: (start, label), rows by tile, compared by the first `nd` fields.
    Result: start, label, and the origin of each label, shape (labels, 2). `work`: what is left of
    a limit; OutOfBudget when it is used up.
    """

    return _run(_charge, (table, costs, pruning), nd, work, len(table[1]) + 2)


def union(left: LabelTable, right: LabelTable, nd: int, work: WorkLeft | None = None) -> LabelTable:
    """Merge two tables of labels (rows of costs of partial mappings) made from the same table.

    Each is (start, label, origin); per tile those stay that no other dominates in the first `nd`
    fields. `work`: what is left of a limit; OutOfBudget when it is used up.
    """

    return _run(_union, (left, right), nd, work, len(left[1]) + len(right[1]) + 2)


def undo_distribute(
    energy: Floats, lanes: Floats, choices: ChoiceArrays, choice_energy: Floats
) -> tuple[Floats, Floats]:
    """Return the least joules and most lanes still to come below a spatial dimension.

    `energy`, `lanes`: the same above it, shape (states,), as are the results. `choice_energy`:
    joules of each choice of lanes by the tile below, shape (choices, states) or (choices, 1). A
    lane is one instance along a dimension of a fanout.
    """
    energy_below, lanes_below = np.full(energy.shape, np.inf), np.zeros(energy.shape)
    _undo_distribute(
        energy, lanes, choices.below, choice_energy, choices.lanes, energy_below, lanes_below
    )
    return energy_below, lanes_below


def first_of_groups(groups: Ints, values: Floats, noise: float = 0.0) -> Bools:
    """Return which rows are on the Pareto front of their group, bool, shape (rows,).

    `groups`, shape (rows,), and `values`, shape (rows, metrics), in any units, are sorted by group,
    then values; less is better. Of equal rows the first stays. A row goes, too, if no metric is
    better than that of a row that stays by more than `noise` of it (1e-9: a part in 10^9).
    """
    is_first = np.empty(groups.shape, np.bool_)
    _first_of_groups(groups, values, 1.0 + noise, np.empty(groups.shape, np.int64), is_first)
    return is_first


def _run(
    kernel: Kernel, arguments: tuple[Any, ...], nd: int, work: WorkLeft | None, rows: int = 0
) -> LabelTable:
    """Run a kernel over all states, with twice the rows each time it runs out of them.

    `arguments`: of the kernel, the first of them a table of labels. `nd`: fields that it
    compares. `work`: what is left of a limit of work; each label looked at is a unit of it. `rows`:
    to begin with; 0: some more than twice those of the table. Returns where each state's labels
    begin, the labels and their origins. Raises OutOfBudget when the work is used up.
    """
    table = arguments[0][:2]
    job = _new_job(nd, work)
    begin, out, origin = _new_rows(table, rows or 2 * len(table[1]) + 16)
    while True:
        kernel(job, *arguments, (begin, out, origin))
        states, count = job[1:3].tolist()
        if states == begin.shape[0] - 1 or job[3] < 0:
            _take(work, job)
            return _filled(LabelTable(begin, out, origin), count)
        out, origin = _doubled(out, count), _doubled(origin, count)


def _new_job(nd: int, work: WorkLeft | None) -> Ints:
    """Return the job of a kernel that compares `nd` fields (label_kernels.py)."""
    job = np.array([nd, 0, 0, _ANY_WORK if work is None else work.units, 0], np.int64)
    _latest_job[get_ident()] = job
    return job


def end_step(thread: int) -> None:
    """Have the kernel that runs in a thread return soon, as if its work were used up.

    For a thread that interrupts the search there: what the step has made is lost.
    """
    if thread in _latest_job:
        _latest_job[thread][3] = -1


def _new_rows(table: LabelArrays, capacity: int) -> LabelTable:
    """Return arrays for so many labels, with fields and tiles as in a table."""
    start, label = table
    rows = np.empty((capacity, label.shape[1]))
    return LabelTable(np.empty_like(start), rows, np.empty((capacity, 2), np.int64))


def _filled(table: LabelTable, count: int) -> LabelTable:
    """Return the first `count` rows of a table; in arrays of their own if these are far smaller."""
    label, origin = table.label[:count], table.origin[:count]
    if 2 * count < len(table.label):
        label, origin = label.copy(), origin.copy()
    return LabelTable(table.start, label, origin)


def _take(work: WorkLeft | None, job: Ints) -> None:
    """Set the work that is left after a kernel; OutOfBudget if it is used up."""
    left = int(job[3])
    if work is not None:
        work.units = left
    if left < 0:
        raise OutOfBudget(EndReason.WORK)


def _doubled(rows: Any, count: int) -> Any:
    """Return an array with twice as many rows, which begins with the first `count` of `rows`."""
    doubled = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    doubled[:count] = rows[:count]
    return doubled
