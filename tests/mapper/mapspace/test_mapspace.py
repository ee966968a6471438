"""The mapspace: its size, its samples, its lattice."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from buffer_spaces import ARCH, space, workload

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapspace.factors import factorise
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.workload.errors import InfeasibleMapping


@pytest.mark.parametrize("rules", ["keep: All", "keep: weight", "keep: Nothing, may_keep: All"])
@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_size_counts_what_iteration_yields(rules: str, conventions: str) -> None:
    room = space(rules, conventions=conventions)
    listed = list(room)
    assert room.size.points == len(listed)  # nothing overflows: BUF is large
    assert len({repr(mapping) for mapping in listed}) == len(listed)


def test_capacity_removes_exactly_what_the_model_refuses() -> None:
    large, small = space(size=4096), space(size=96)
    work = workload()
    arch = load_arch(ARCH.format(rules="keep: All", dim="fanout: 2", size=96))
    kept = [repr(mapping) for mapping in small]
    fits = []
    for mapping in large:
        try:
            evaluate(arch, work, mapping)
        except InfeasibleMapping:
            continue
        fits.append(repr(mapping))
    assert 0 < len(fits) < large.size.points
    assert set(kept) <= set(fits)


def test_sampling_says_when_nothing_is_left() -> None:
    room = space(dim="fanout: 3, loop_bounds: [{expression: k, operator: ==, value: 5}]")
    assert room.size.points == 0
    with pytest.raises(InfeasibleMapping, match="leave no mapping"):
        room.sample(random.Random(0))


def test_lattice_axes() -> None:
    assert factorise(360) == ((2, 3), (3, 2), (5, 1))
    lattice = Lattice({"m": 12, "n": 1, "k": 5})
    assert lattice.size == 3 * 2 * 2
    assert lattice.tiles[0].tolist() == [1, 1, 1]
    assert lattice.tiles[-1].tolist() == [12, 1, 5]
    assert len({tuple(tile) for tile in lattice.tiles.tolist()}) == lattice.size
    for axis in lattice.axes:
        steps = lattice.tiles[:: axis.stride, axis.variable][: axis.radix].tolist()
        assert all(b == a * axis.prime for a, b in pairwise(steps))
    reach = lattice.reach(("m", "k"), (4, 5))
    for state, below in enumerate(reach.tolist()):
        m, n, k = lattice.tiles[state].tolist()
        divides = m % 4 == 0 and k % 5 == 0
        assert (below >= 0) is divides
        if divides:
            assert lattice.tiles[below].tolist() == [m // 4, n, k // 5]
