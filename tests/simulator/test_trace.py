"""What waits in queues, and what links carry: against hand counts, and without effect on a run."""

import dataclasses

import numpy as np
import pytest
from engines import differences
from special_programs import special_case

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile.columns import OUTPUT_SLOT
from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run import occupancy
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.show.heat_map import heat_maps
from tilewright.simulator.show.timeline import perfetto

GENERIC = load_profile("generic")
ROUTERS = 16


def transfer(words: int, delay: int) -> Program:
    """Send words to the neighbour, which does other work before it takes them."""
    b = ProgramBuilder("transfer", 1, 2)
    color = b.color("c")
    sender = b.code("sender")
    sender.buffer("v", "f32", words)
    sender.mem1d("all", "v", words)
    sender.output_queue(2, color)
    sender.fabout("out", 2, words)
    sender.task("main", entry=True).op("fmovs", "out", "all")
    taker = b.code("taker")
    taker.buffer("v", "f32", words)
    taker.buffer("w", "f32", max(1, delay))
    taker.mem1d("all", "v", words)
    taker.mem1d("other", "w", max(1, delay))
    taker.input_queue(3, color)
    taker.fabin("in", 3, words)
    task = taker.task("main", entry=True)
    if delay:
        task.op("fnegs", "other", "other")
    task.op("fmovs", "all", "in")
    b.place("sender", Area(0, 0))
    b.place("taker", Area(0, 1))
    b.route(color, Area(0, 0), rx="R", tx="E")
    b.route(color, Area(0, 1), rx="W", tx="R")
    return b.build()


def test_words_that_never_wait_are_there_for_the_latency() -> None:
    words = 50
    result = Machine(transfer(words, 0), GENERIC, queues=True).run()
    queues = result.trace.queue_word_cycles
    assert queues is not None
    hop = GENERIC.hop_cycles
    leave = GENERIC.dispatch_to_link_cycles - hop
    assert queues[0, 0, OUTPUT_SLOT + 2] == words * leave
    assert queues[0, :, ROUTERS].tolist() == [words * hop] * 2
    assert queues[0, 1, 3] >= words * GENERIC.arrival_to_execute_cycles
    assert queues.sum() == queues[0, [0, 0, 1, 1], [10, 16, 16, 3]].sum()


def test_full_queues_show_their_depth() -> None:
    result = Machine(transfer(200, 4000), GENERIC, queues=True).run()
    queues = result.trace.queue_word_cycles
    assert queues is not None
    depth = GENERIC.input_queue_words[3] + GENERIC.arrival_to_execute_cycles - 1
    # full from soon after the start until the operation before ends, then it drains
    assert (result.cycles - 260) * depth < queues[0, 1, 3] < result.cycles * depth


def test_links_of_a_chain_are_busy_while_words_pass() -> None:
    result = Machine(chain_reduce(4, 100), GENERIC).run()
    assert result.trace.link_words.shape == (1, 4, 5)
    assert result.trace.link_words.max() == 100
    assert result.trace.queue_word_cycles is None


@pytest.mark.random
@pytest.mark.parametrize("seed", range(6))
def test_asking_changes_nothing_else(seed: int) -> None:
    case = special_case(seed)
    given = {"memory": case.memory, "edges": case.edges, "timeline": True}
    plain = Machine(case.program, GENERIC).run(**given)
    asked = Machine(case.program, GENERIC, queues=True)
    runs = [asked.run(**given, shuffle=shuffle) for shuffle in (0, 7)]
    assert differences(runs[0], plain) == []
    queues = [run.trace.queue_word_cycles for run in runs]
    assert queues[0] is not None
    assert np.array_equal(queues[0], queues[1])


@pytest.mark.random
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("interval", [1, 7, 100_000])
def test_intervals_add_up_to_the_totals(seed: int, interval: int) -> None:
    case = special_case(seed)
    whole = Machine(case.program, GENERIC, queues=True)
    expected = whole.run(memory=case.memory, edges=case.edges, timeline=True)
    looking = Machine(case.program, GENERIC, interval=interval)
    found = looking.run(memory=case.memory, edges=case.edges, timeline=True)
    held = found.trace.occupancy
    assert held is not None
    assert held.interval == interval
    assert (held.link_words.sum(axis=0) == found.trace.link_words).all()
    assert found.trace.queue_word_cycles is not None
    assert (held.queue_word_cycles.sum(axis=0) == found.trace.queue_word_cycles).all()
    plain = dataclasses.replace(found, trace=dataclasses.replace(found.trace, occupancy=None))
    assert differences(plain, expected) == []
    assert held.link_shares().max() <= 1
    assert len(held.link_words) * interval >= found.cycles - GENERIC.decode_to_execute_cycles


def test_occupancy_of_a_transfer_by_hand() -> None:
    """Words 0.. leave at the rate of one per cycle; the taker's queue fills while it is busy."""
    words, delay = 60, 100
    machine = Machine(transfer(words, delay), GENERIC, interval=10)
    result = machine.run()
    held = result.trace.occupancy
    assert held is not None
    east = held.link_shares()[:, 0, 0, 1]
    queue = held.queue_words()[:, 0, 1, 3]
    depth = GENERIC.input_queue_words[3] + GENERIC.arrival_to_execute_cycles - 1
    assert queue.max() == depth  # full, interval after interval
    full = np.flatnonzero(queue == depth)
    assert (east[full[1:]] == 0).all()  # and nothing moves then
    assert east.sum() * 10 == words


def test_occupancy_as_counters_and_pictures() -> None:
    result = Machine(transfer(60, 100), GENERIC, interval=10).run(timeline=True)
    held = result.trace.occupancy
    assert held is not None
    events = perfetto(result, clock_hz=1e6)["traceEvents"]
    counters = [event for event in events if event["ph"] == "C"]
    east = [event for event in counters if event["name"] == "link E"]
    assert {event["pid"] for event in east} == {1}
    assert [event["args"]["share"] for event in east][:2] == [
        held.link_shares()[0, 0, 0, 1],
        held.link_shares()[1, 0, 0, 1],
    ]
    assert {event["name"] for event in counters} == {
        "link E",
        "link R",
        "output queue 2",
        "input queue 3",
        "router buffers",
    }
    assert all(event["ts"] % 10 == 0 for event in counters)
    pictures = heat_maps(result)
    assert "10 cycles per column" in pictures["queues over time"]
    without = Machine(transfer(60, 100), GENERIC, interval=10).run()
    assert any(event["ph"] == "C" for event in perfetto(without)["traceEvents"])
    assert "links over time" not in heat_maps(Machine(transfer(6, 1), GENERIC).run())


def test_too_short_an_interval_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occupancy, "MOST_VALUES", 1000)
    with pytest.raises(MachineError, match="a longer interval"):
        Machine(transfer(60, 100), GENERIC, interval=1).run()
    with pytest.raises(MachineError, match="more cycles than allowed"):
        Machine(transfer(60, 100), GENERIC, interval=7).run(max_cycles=20)
    with pytest.raises(MachineError, match="negative"):
        Machine(transfer(60, 100), GENERIC, interval=-1)
