"""The compiled kernels against slow twins that say what they mean."""

from __future__ import annotations

import random
from itertools import chain, pairwise
from math import inf

import numpy as np
import pytest

from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.budget import EndReason, OutOfBudget, WorkLeft
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.remaining.carried_energy import NOTHING_CARRIED
from tilewright.mapper.searches.exact.remaining.remaining_latency import UNTIMED

Label = tuple[float, ...]
Twin = list[list[Label]]  # per state, its labels
FREE = np.array([0.0, inf, 0.0, 0.0, 0.0, 0.0, 2.0, inf])  # no limit
NO_TIME = UNTIMED.seconds, UNTIMED.terms, NOTHING_CARRIED.rows
LATTICE = Lattice({"m": 12, "k": 6})


def pareto(labels: list[Label], nd: int) -> list[Label]:
    """Keep, per distinct leading fields, one label that no other dominates."""
    kept: list[Label] = []
    for one in sorted(labels, key=lambda label: label[:nd]):
        if not any(all(a <= b for a, b in zip(k[:nd], one[:nd], strict=True)) for k in kept):
            kept.append(one)
    return kept


def random_twin(rng: random.Random, nd: int) -> Twin:
    """Draw 0 to 4 labels per state: energy, room, minus lanes, and a payload field."""
    return [
        pareto(
            [
                (float(rng.randrange(9)), float(rng.randrange(9)), -float(rng.randrange(1, 4)), 1.0)
                for _ in range(rng.randrange(5))
            ],
            nd,
        )
        for _ in range(LATTICE.size)
    ]


def packed(twin: Twin) -> tuple[kernels.Ints, kernels.Floats]:
    start = np.cumsum([0, *map(len, twin)]).astype(np.int64)
    flat = [label for labels in twin for label in labels]
    return start, np.array(flat, float).reshape(len(flat), 4)


def unpacked(start: kernels.Ints, label: kernels.Floats) -> Twin:
    rows = [tuple(row) for row in label.tolist()]
    return [rows[a:b] for a, b in pairwise(start.tolist())]


def leading(twin: Twin, nd: int) -> list[list[Label]]:
    return [[label[:nd] for label in labels] for labels in twin]


def open_view(bound: kernels.Floats = FREE) -> kernels.PruningArrays:
    return kernels.PruningArrays(np.zeros(LATTICE.size), np.ones(LATTICE.size), bound, *NO_TIME)


@pytest.mark.random
@pytest.mark.parametrize("nd", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_closure(nd: int, seed: int) -> None:
    twin = random_twin(random.Random(seed), nd)
    start, label = packed(twin)
    for axis in LATTICE.axes:
        line = np.array([[axis.stride, axis.radix]])
        begin, out, origin = kernels.closure((start, label), nd, line, open_view())
        slow: Twin = []
        for state in range(LATTICE.size):
            digit = state // axis.stride % axis.radix
            reached = [twin[state - step * axis.stride] for step in range(digit + 1)]
            slow.append(pareto([one for labels in reached for one in labels], nd))
        assert leading(unpacked(begin, out), nd) == leading(slow, nd)
        assert np.array_equal(label[origin[:, 0]], out)


@pytest.mark.random
@pytest.mark.parametrize("n_axes", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_closure_along_several_axes_at_once(n_axes: int, seed: int) -> None:
    twin = random_twin(random.Random(seed), 2)
    start, label = packed(twin)
    axes = np.array([(axis.stride, axis.radix) for axis in LATTICE.axes[:n_axes]])
    begin, out, origin = kernels.closure((start, label), 2, axes, open_view())
    slow = twin
    for stride, radix in axes.tolist():
        below = [range(state // stride % radix + 1) for state in range(LATTICE.size)]
        reached = [[slow[s - n * stride] for n in steps] for s, steps in enumerate(below)]
        slow = [pareto([one for labels in several for one in labels], 2) for several in reached]
    assert leading(unpacked(begin, out), 2) == leading(slow, 2)
    assert np.array_equal(label[origin[:, 0]], out)
    assert not origin[:, 1].any()


@pytest.mark.random
@pytest.mark.parametrize("nd", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_deal(nd: int, seed: int) -> None:
    rng = random.Random(seed)
    twin = random_twin(rng, nd)
    start, label = packed(twin)
    choices = [(1, 1), (2, 1), (2, 3), (4, 1), (1, 2)]
    reach = np.stack([LATTICE.reach(("m", "k"), choice) for choice in choices])
    times = np.ones((len(choices), 4))
    times[:, 2] = [m * k for m, k in choices]
    plus = np.zeros((len(choices), 4))
    plus[:, 0] = [rng.randrange(3) for _ in choices]
    fare = np.zeros((len(choices), LATTICE.size, 4))
    fields = [0, 2] if seed % 2 else []
    rows = [(c, field) for c in range(len(choices)) for field in fields]
    fares = np.zeros((len(rows), 1 + LATTICE.size))
    for row, (c, field) in enumerate(rows):
        fare[c, :, field] = [rng.randrange(4) for _ in range(LATTICE.size)]
        fares[row] = [field, *fare[c, :, field]]
    begin, out, origin = kernels.distribute(
        (start, label),
        nd,
        kernels.ChoiceArrays(reach, np.hstack([times, plus]), fares, np.ones(len(choices))),
        open_view(),
    )
    slow: Twin = []
    for state in range(LATTICE.size):
        found = [
            tuple((np.array(one) + fare[c, reach[c, state]]) * times[c] + plus[c])
            for c in range(len(choices))
            if reach[c, state] >= 0
            for one in twin[reach[c, state]]
        ]
        slow.append(pareto(found, nd))
    assert leading(unpacked(begin, out), nd) == leading(slow, nd)
    below = np.searchsorted(start, origin[:, 0], side="right") - 1
    made = (label[origin[:, 0]] + fare[origin[:, 1], below]) * times[origin[:, 1]]
    assert np.array_equal(made + plus[origin[:, 1]], out)


@pytest.mark.random
@pytest.mark.parametrize("last", [0.0, 1.0])
@pytest.mark.parametrize("nd", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_charge(nd: int, last: float, seed: int) -> None:
    rng = random.Random(seed)
    twin = random_twin(rng, nd)
    start, label = packed(twin)
    plus = np.array([[float(rng.randrange(5)) for _ in range(LATTICE.size)] for _ in range(2)])
    fields = np.array([0, 1], np.int64)
    begin, out, _ = kernels.charge(
        (start, label),
        nd,
        kernels.ChargeArrays(fields, plus, np.array([1.0, 8.0, last])),
        open_view(),
    )
    slow: Twin = []
    for state, labels in enumerate(twin):
        paid = [(e + plus[0, state], r + plus[1, state], n, p) for e, r, n, p in labels]
        fits = [(e, 0.0 if last else r, n, p) for e, r, n, p in paid if r <= 8]
        slow.append(pareto(fits, nd))
    assert leading(unpacked(begin, out), nd) == leading(slow, nd)


@pytest.mark.parametrize("nd", [1, 2, 3])
def test_union(nd: int) -> None:
    one, two = random_twin(random.Random(1), nd), random_twin(random.Random(2), nd)
    sources = [np.stack([np.arange(n), np.zeros(n)], axis=1).astype(np.int64)
               for n in (sum(map(len, one)), sum(map(len, two)))]  # fmt: skip
    begin, out, _ = kernels.union((*packed(one), sources[0]), (*packed(two), sources[1]), nd)
    slow = [pareto(a + b, nd) for a, b in zip(one, two, strict=True)]
    assert leading(unpacked(begin, out), nd) == leading(slow, nd)


@pytest.mark.parametrize(
    ("kind", "limit", "most", "kept"),
    [
        (0.0, 7.0, inf, [1.0, 2.0]),
        (1.0, 5.0, inf, [1.0, 2.0, 3.0, 4.0]),
        (1.0, 4.9, inf, []),
        (1.0, 5.0, 8.0, [1.0, 2.0, 3.0]),
        (2.0, 35.0, inf, [1.0, 2.0]),
    ],
)  # fmt: skip
def test_limit_drops_what_cannot_meet_it(
    kind: float, limit: float, most: float, kept: list[float]
) -> None:
    """Rest 5 J, one lane, steps take 5 s: energy e + 5, latency 5."""
    start, label = np.array([0, 4], np.int64), np.array([[e, 0, -1.0, 0] for e in (1.0, 2, 3, 4)])
    label[:, 1] = [4, 3, 2, 1]
    bound = np.array([kind, limit, 0.0, 0.0, 5.0, 0.0, 2.0, most])
    nothing = kernels.ChargeArrays(
        np.zeros(0, np.int64), np.zeros((0, 1)), np.array([-1.0, inf, 0.0])
    )
    view = kernels.PruningArrays(np.array([5.0]), np.array([1.0]), bound, *NO_TIME)
    _, out, _ = kernels.charge((start, label), 2, nothing, view)
    assert out[:, 0].tolist() == kept


@pytest.mark.random
@pytest.mark.parametrize("seed", range(4))
def test_labels_at_or_above_a_corner_go(seed: int) -> None:
    """Columns: energy, bits, lanes, carried joules; energy, carried joules at two prices."""
    rng = random.Random(seed)
    labels = np.array([[float(rng.randrange(8)) for _ in range(8)] for _ in range(60)])
    labels[:, 2] = -1.0
    corners = sorted(
        [float(rng.randrange(3, 9)), 1.0 + rng.randrange(2) / 2, float(rng.randrange(5)),
         float(rng.randrange(3, 9)), float(rng.randrange(4, 11))]
        for _ in range(7)
    )  # fmt: skip
    first = [3.0, inf, 0.0, 0.0, 5.0, 0.0, 2.0, inf, len(corners), 1, 3, 1, 4, 6]
    rest, further, lanes, factors = 2.0, np.array([[1.0], [3.0]]), 4.0, (3.0, 0.125, 2.0)
    least, greatest = max(factors[1], 1 / lanes), min(factors[2], lanes)

    def is_above(label: Label, corner: list[float]) -> bool:
        added = (rest, *further[:, 0].tolist())
        carried = [label[column] for column in (3, 5, 7)]
        energies = [
            label[column] + more + joules * (least if joules > 0 else greatest)
            for column, more, joules in zip((0, 4, 6), added, carried, strict=True)
        ]
        metrics = [energies[0], 5.0 / lanes, label[1], *energies[1:]]
        return all(a >= b for a, b in zip(metrics, corner, strict=True))

    view = kernels.PruningArrays(
        np.array([rest]), np.array([lanes]), np.array([*first, *chain(*corners)]),
        *NO_TIME[:2], np.array([factors]), further,
    )  # fmt: skip
    nothing = kernels.ChargeArrays(
        np.zeros(0, np.int64), np.zeros((0, 1)), np.array([-1.0, inf, 0.0])
    )
    labels = labels[np.lexsort(labels.T[::-1])]
    begin, out, _ = kernels.charge((np.array([0, 60], np.int64), labels), 8, nothing, view)
    rows = [tuple(row) for row in labels.tolist()]
    hopeful = [row for row in rows if not any(is_above(row, corner) for corner in corners)]
    assert 0 < len(hopeful) < 60
    assert unpacked(begin, out) == [pareto(hopeful, 8)]


def test_least_above_and_deal_above_undo() -> None:
    rng = np.random.default_rng(3)
    value = rng.integers(0, 50, LATTICE.size).astype(float)
    axis = LATTICE.axes[0]
    least, greatest = value.copy(), value.copy()
    kernels.least_above(least, axis.stride, axis.radix, 1.0)
    kernels.least_above(greatest, axis.stride, axis.radix, -1.0)
    for state in range(LATTICE.size):
        digit = state // axis.stride % axis.radix
        above = [value[state + step * axis.stride] for step in range(axis.radix - digit)]
        assert least[state] == min(above)
        assert greatest[state] == max(above)
    choices = [(1, 1), (2, 3)]
    reach = np.stack([LATTICE.reach(("m", "k"), choice) for choice in choices])
    energy = rng.integers(0, 9, (2, LATTICE.size)).astype(float)
    rest, gain = kernels.undo_distribute(
        value,
        np.ones(LATTICE.size),
        kernels.ChoiceArrays(reach, np.ones((2, 8)), np.zeros((0, 1)), np.array([1.0, 6.0])),
        energy,
    )
    for state in range(LATTICE.size):
        ways = [(value[s] + energy[c, state], 6.0**c) for c in range(2)
                for s in range(LATTICE.size) if reach[c, s] == state]  # fmt: skip
        assert rest[state] == min(way[0] for way in ways)
        assert gain[state] == max(way[1] for way in ways)


def test_a_table_that_outgrows_its_room_is_made_in_more() -> None:
    """One label, room for 18, reaches all 41 states of a line, and by `deal` some."""
    line = Lattice({"m": 2**40})
    table = (np.array([0] + [1] * 41, np.int64), np.array([[3.0, 0.0, -1.0, 7.0]]))
    view = kernels.PruningArrays(np.zeros(41), np.ones(41), FREE, *NO_TIME)
    begin, out, origin = kernels.closure(table, 1, np.array([[1, 41]]), view)
    assert begin.tolist() == list(range(42))
    assert np.array_equal(out, np.repeat(table[1], 41, axis=0))
    assert not origin.any()
    choices = [2**power for power in range(41)]
    reach = np.stack([line.reach(("m",), (choice,)) for choice in choices])
    plus = np.arange(164.0).reshape(41, 4)
    linear = np.hstack([np.ones((41, 4)), plus])
    begin, out, origin = kernels.distribute(
        table, 1, kernels.ChoiceArrays(reach, linear, np.zeros((0, 1)), np.ones(41)), view
    )
    assert np.array_equal(out, table[1] + plus)
    assert origin.tolist() == [[0, choice] for choice in range(41)]


def test_a_kernel_counts_the_labels_it_looks_at_and_ends_with_its_work() -> None:
    """Ten labels: none dominates another, each is made and compared with those before."""
    start = np.array([0, 10], np.int64)
    label = np.array([[float(e), 10.0 - e, -1.0, 0.0] for e in range(10)])
    nothing = kernels.ChargeArrays(
        np.zeros(0, np.int64), np.zeros((0, 1)), np.array([-1.0, inf, 0.0])
    )
    view = kernels.PruningArrays(np.zeros(1), np.ones(1), FREE, *NO_TIME)
    looks = 10 + sum(range(10))
    work = WorkLeft(looks)
    _, out, _ = kernels.charge((start, label), 2, nothing, view, work)
    assert (len(out), work.units) == (10, 0)
    line = np.array([[1, 1]])
    for step in (
        lambda work: kernels.charge((start, label), 2, nothing, view, work),
        lambda work: kernels.closure((start, label), 2, line, view, work),
    ):
        with pytest.raises(OutOfBudget) as ended:
            step(WorkLeft(looks - 1))
        assert ended.value.reason is EndReason.WORK
