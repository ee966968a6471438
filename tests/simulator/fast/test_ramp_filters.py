"""Which words a counter filter lets pass: the formulas beside a counter that counts."""

from __future__ import annotations

import numpy as np
import pytest
from engines import filtered_pipeline

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.units.ramp_filters import (
    RampFilters,
    filters_of,
    kept_before,
    place_behind,
)
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, CounterFilter, EdgeInput
from tilewright.simulator.run.machine import Machine

GENERIC = load_profile("generic")
plain_kept_before = getattr(kept_before, "py_func", kept_before)
plain_place_behind = getattr(place_behind, "py_func", place_behind)


def passing(limit: int, most: int, start: int, words: int) -> list[int]:
    """Count as the machine does: each word adds 1, above `most` it is rejected."""
    count, passed = start, []
    for word in range(words):
        count += 1
        if count <= most:
            passed.append(word)
        if count == limit:
            count = 0
    return passed


@pytest.mark.parametrize("limit", range(1, 6))
def test_the_formulas_count(limit: int) -> None:
    zero = np.zeros(1, dtype=np.int64)
    for most in range(1, limit + 1):
        for start in range(limit):
            counter = np.array([limit, most, start], dtype=np.int64)
            filters = RampFilters(zero, zero, zero, counter[None])
            passed = passing(limit, most, start, 30)
            assert [plain_place_behind(counter, n) for n in range(len(passed))] == passed
            for words in range(30):
                kept = len([word for word in passed if word < words])
                assert plain_kept_before(counter, words) == kept
                assert filters.kept(np.array([words])).tolist() == [kept]


def test_filters_of_a_network_are_named_once() -> None:
    machine = Machine(filtered_pipeline(1).program, GENERIC)
    network = machine.compiled.network
    filters = filters_of(network, Division(network))
    assert filters.table.shape[0] == len({tuple(row) for row in filters.table.tolist()})
    assert (network.element[filters.router] == network.element[filters.queue]).all()
    assert (filters.row < filters.table.shape[0]).all()


def one_row(filter: CounterFilter, taken: int) -> FastMachine:  # noqa: A002 - its name in Route
    b = ProgramBuilder("one row", 1, 1)
    x = b.color("x")
    code = b.code("main")
    code.buffer("v", "f32", taken)
    code.mem1d("all", "v", taken)
    code.input_queue(0, x)
    code.fabin("in", 0, taken)
    code.task("main", entry=True).op("fmovs", Ref("all"), "in")
    b.place("main", Area(0, 0))
    b.route(x, Area(0, 0), rx="W", tx="R", filter=filter)
    b.edge_input(EdgeInput("x", "W", 0, 1, x, "f32", 8))
    return FastMachine(b.build(), GENERIC)


@pytest.mark.parametrize(
    ("counter", "taken", "reason"),
    [
        (CounterFilter(8, 2, 6), 2, ""),
        (CounterFilter(4, 2, 2), 4, "an operation takes words that a filter keeps apart"),
        (CounterFilter(8, 0, 6), 1, "a filter counts in another way"),
        (CounterFilter(8, 2, 6, other_limit=8), 2, "CounterFilter.other_limit is set"),
        (CounterFilter(8, 2, 6), 3, "words sent and words taken differ"),
    ],
)
def test_what_is_covered(counter: CounterFilter, taken: int, reason: str) -> None:
    machine = one_row(counter, taken)
    assert machine.certificate.granted == (not reason)
    assert machine.certificate.reason == reason
