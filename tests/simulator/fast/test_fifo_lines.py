"""Lines of FIFOs between two elements: their ends, latencies and capacities, by hand."""

import numpy as np
import pytest

from tilewright.simulator.compile.fabric.network import INPUT, OUTPUT, ROUTER
from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.units.fifo_lines import line_ends, lines_of
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")


def test_the_line_from_an_output_queue_to_its_neighbours_input_queue() -> None:
    """Output queue, two routers, input queue: a latency of 6; the line holds all their words."""
    network = Machine(chain_reduce(2, 4), WSE2).compiled.network
    lines = lines_of(network, Division(network))
    (output,) = np.flatnonzero(network.kind == OUTPUT)
    (end,) = np.flatnonzero(network.kind == INPUT)
    routers = np.flatnonzero(network.kind == ROUTER)
    source, latency, space, credit = lines.channel
    assert routers.size == 2
    assert source[end] == lines.root[end] == output
    assert (latency[end], credit[end]) == (3 + 1 + 2, 4)
    depths = [
        WSE2.output_queue_words[3],
        *[WSE2.router_buffer_words] * 2,
        WSE2.input_queue_words[2],
    ]
    on_the_way = [2 - 1, 1 - 1, 1 - 1, 2 - 1]  # words in the registers: latency - 1 of each queue
    assert space[end] == sum(depths) + sum(on_the_way)
    assert lines.down[[output, *routers, end]].tolist() == [end] * 4
    assert np.flatnonzero(lines.sends).tolist() == [output]
    assert np.flatnonzero(lines.takes).tolist() == [end]
    assert not lines.branch.any()
    assert not (lines.enters | lines.leaves).any()


def test_ends_and_sums_of_pointers() -> None:
    sums = np.array([[1, 10, 100, 1000]])
    assert line_ends(np.array([1, 2, -1, -1]), sums).tolist() == [2, 2, 2, 3]
    assert sums.tolist() == [[111, 110, 100, 1000]]


def test_a_loop_of_pointers_is_refused_with_its_fifos() -> None:
    with pytest.raises(NotCovered, match="leads back to itself") as caught:
        line_ends(np.array([1, 0, 0, -1]), np.zeros((0, 4), dtype=np.int64))
    assert caught.value.fifos is not None
    assert caught.value.fifos.tolist() == [0, 1, 2]


def test_a_queue_of_one_word_is_too_shallow() -> None:
    profile = WSE2.with_values({"router_buffer_words": 1})
    network = Machine(chain_reduce(2, 4), profile).compiled.network
    with pytest.raises(NotCovered, match="too shallow"):
        lines_of(network, Division(network))
