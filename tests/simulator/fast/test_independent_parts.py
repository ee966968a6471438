"""Independent parts: what joins them, and what one refusal takes away."""

import numpy as np

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile.fabric.network import OUTPUT, ROUTER
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine


def two_pairs() -> Program:
    """In each of two rows, an element sends four words to its neighbour."""
    b = ProgramBuilder("pairs", 2, 2)
    b.color("x")
    send, receive = b.code("send"), b.code("receive")
    for code in (send, receive):
        code.buffer("v", "f32", 4)
        code.mem1d("all", "v", 4)
    send.output_queue(3, "x")
    send.fabout("out", 3, 4)
    send.task("main", entry=True).op("fmovs", "out", "all")
    receive.input_queue(2, "x")
    receive.fabin("in", 2, 4)
    receive.task("main", entry=True).op("fmovs", "all", "in")
    b.place("send", Area(0, 0, 2, 1))
    b.place("receive", Area(0, 1, 2, 1))
    b.route("x", Area(0, 0, 2, 1), rx="R", tx="E")
    b.route("x", Area(0, 1, 2, 1), rx="W", tx="R")
    return b.build()


def division() -> Division:
    return Division(Machine(two_pairs(), load_profile("generic")).compiled.network)


def test_a_stream_joins_its_two_elements() -> None:
    parts = division()
    count = parts.fifos.size
    assert np.unique(parts.part).size == 2
    assert parts.part[count + 0] == parts.part[count + 1]
    assert parts.part[count + 2] == parts.part[count + 3] != parts.part[count]


def test_a_refusal_takes_a_whole_part() -> None:
    parts = division()
    parts.refuse(NotCovered("a reason", elements=np.array([1])))
    assert parts.elements.tolist() == [False, False, True, True]
    assert parts.reason == "a reason"
    assert not parts.whole
    assert [(c.granted, c.reason, c.elements, c.first) for c in parts.certificates()] == [
        (False, "a reason", 2, 0),
        (True, "", 2, 2),
    ]


def test_a_refusal_without_a_place_takes_everything() -> None:
    parts = division()
    parts.refuse(NotCovered("another reason"))
    assert not parts.elements.any()
    assert not parts.fifos.any()
    assert {c.reason for c in parts.certificates()} == {"another reason"}


def test_the_arbiter_decides_for_routers_only() -> None:
    """An output queue that contends cannot be decided: its part is refused."""
    parts = division()
    assert not parts.contend(NotCovered("no FIFOs are named"))
    output = np.flatnonzero(parts.network.kind == OUTPUT)[:1]
    assert parts.contend(NotCovered("contended", contending=output))
    assert parts.rounds == 1
    assert not parts.contended.any()
    assert parts.elements.tolist() == [False, False, True, True]
    router = np.flatnonzero((parts.network.kind == ROUTER) & parts.fifos)[:1]
    assert parts.contend(NotCovered("contended", contending=router))
    assert np.flatnonzero(parts.contended).tolist() == router.tolist()
    assert parts.elements.tolist() == [False, False, True, True]
