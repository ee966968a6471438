"""Filters of router buffers against slow twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.routes import Area, CounterFilter
from tilewright.simulator.run.machine import Machine

WSE3 = load_profile("wse3-sdk-sim")
COMMANDS = ("nop", "switch_adv", "switch_rst")


def counter_twin(words: int, chosen: CounterFilter, inclusive: bool) -> list[int]:
    """Return which of the data wavelets pass a counter filter, one by one."""
    limits = [chosen.limit, *([chosen.other_limit] if chosen.other_limit else [])]
    count, found = chosen.start, []
    for number in range(words):
        if not limits:
            found.append(number)
            continue
        if not inclusive:
            count += 1
        if count <= chosen.most:
            found.append(number)
        reached = count >= limits[0]
        if inclusive:
            count += 1
        if reached:
            count = 0
            limits = limits[1:] if chosen.is_sparse else limits
    return found


def filtered(words: int, chosen: CounterFilter, profile: Profile) -> list[int]:
    inclusive = profile.filter_counter_inclusive
    kept = len(counter_twin(words, chosen, inclusive))
    b = ProgramBuilder("filter", 1, 2)
    b.color("x")
    send = b.code("send")
    send.buffer("v", "u32", words)
    send.mem1d("all", "v", words)
    send.output_queue(3, "x")
    send.fabout("out", 3, words)
    send.task("main", entry=True).op("mov32", "out", "all")
    keep = b.code("keep")
    keep.buffer("got", "u32", max(kept, 1))
    keep.mem1d("all", "got", max(kept, 1))
    keep.input_queue(2, "x")
    keep.fabin("in", 2, max(kept, 1))
    main = keep.task("main", entry=kept > 0)
    main.op("mov32", "all", "in")
    b.place("send", Area(0, 0))
    b.place("keep", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R", filter=chosen)
    memory = {"v": {(0, 0): np.arange(words)}}
    got = Machine(b.build(), profile).run(memory=memory).memory["got"][0, 1]
    return [int(n) for n in got][:kept]


@settings(max_examples=20)
@given(st.integers(1, 40), st.integers(1, 8), st.integers(0, 8), st.data())
def test_counter_filters(words: int, limit: int, most: int, data: st.DataObject) -> None:
    other = data.draw(st.none() | st.integers(1, 8))
    start = data.draw(st.integers(0, min(limit, other or limit) - 1))
    chosen = CounterFilter(limit, most, start, other, sparse=data.draw(st.booleans()))
    profile = WSE3.with_values({"filter_counter_inclusive": data.draw(st.booleans())})
    assert filtered(words, chosen, profile) == counter_twin(
        words, chosen, profile.filter_counter_inclusive
    )


def test_the_documented_counter_rejects_every_fifth() -> None:
    assert filtered(12, CounterFilter(limit=5, most=4), WSE3) == [0, 1, 2, 3, 5, 6, 7, 8, 10, 11]
    other = WSE3.with_values({"filter_counter_inclusive": True})
    assert filtered(12, CounterFilter(limit=5, most=4), other) == [
        0, 1, 2, 3, 4, 6, 7, 8, 9, 10,
    ]  # fmt: skip


def test_a_sparse_counter_filters_no_more_after_its_limits() -> None:
    """wafer.md §5.2: the second limit takes the place of the first once, then all passes."""
    kept = filtered(12, CounterFilter(limit=3, most=1, other_limit=4), WSE3)
    assert kept == [0, 3, 7, 8, 9, 10, 11]
    assert filtered(6, CounterFilter(limit=3, most=1, sparse=True), WSE3) == [0, 3, 4, 5]


def test_filter_control_lets_one_control_wavelet_pass() -> None:
    """Only the control wavelet that arrives at the greatest count passes."""
    b = ProgramBuilder("last", 1, 2)
    b.color("x")
    send = b.code("send")
    send.output_queue(3, "x")
    send.fabout("command", 3, 1, control=True)
    main = send.task("main", entry=True)
    with main.loop("i", 5) as i:
        main.op("mov32", "command", i)
    keep = b.code("keep")
    keep.buffer("got", "u32", 1)
    keep.mem1d("all", "got", 1)
    keep.input_queue(2, "x")
    keep.fabin("in", 2, 1)
    keep.task("main", entry=True).op("mov32", "all", "in")
    b.place("send", Area(0, 0))
    b.place("keep", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    chosen = CounterFilter(5, 3, count_data=False, count_control=True, filter_control=True)
    b.route("x", Area(0, 1), rx="W", tx="R", filter=chosen)
    assert Machine(b.build(), WSE3).run().memory["got"][0, 1, 0] == 2
