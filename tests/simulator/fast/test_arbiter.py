"""The arbiter of the fast engine against a link that is played cycle by cycle."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, CounterFilter, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine

Stream = tuple[int, int, int]
"""(words, cycles between them, first cycle)."""


def crossing(*streams: Stream) -> Program:
    """Streams from the north, one a column, that leave together by one link to the east."""
    b = ProgramBuilder("crossing", 1, len(streams))
    b.code("idle")
    b.place("idle", Area(0, 0, 1, len(streams)))
    for column, (words, interval, start) in enumerate(streams):
        color = b.color(f"c{column}")
        b.edge_input(EdgeInput(f"i{column}", "N", column, 1, color, "f32", words, interval, start))
        b.edge_output(EdgeOutput(f"o{column}", "E", 0, 1, color, "f32", words))
        b.route(color, Area(0, column), rx="N", tx="E")
        if column < len(streams) - 1:
            b.route(color, Area(0, column + 1, 1, len(streams) - column - 1), rx="W", tx="E")
    return b.build()


def data(*streams: Stream) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    return {f"i{n}": np.arange(words)[None] for n, (words, _, _) in enumerate(streams)}


def played(first: Stream, second: Stream) -> list[list[int]]:
    """The cycles in which two streams leave one router, endless queues before it, one cycle a hop.

    The first stream comes from a neighbour's router, two cycles later than the second one's.
    """
    ready = [[start + k * step for k in range(words)] for words, step, start in (first, second)]
    ready[0] = [cycle + 1 for cycle in ready[0]]
    out: list[list[int]] = [[], []]
    last, now = [-1, -1], 0
    while any(len(o) < len(r) for o, r in zip(out, ready, strict=True)):
        bids = [n for n in (0, 1) if len(out[n]) < len(ready[n]) and ready[n][len(out[n])] <= now]
        if bids:
            best = min(bids, key=lambda n: (last[n], n))
            out[best].append(now)
            last[best] = now
        now += 1
    return out


@pytest.mark.parametrize(
    "streams",
    [
        ((5, 1, 0), (5, 1, 0)),
        ((5, 1, 3), (9, 1, 0)),
        ((6, 2, 0), (6, 2, 1)),
        ((7, 3, 0), (20, 1, 2)),
        ((1, 1, 4), (4, 2, 0)),
    ],
)
def test_two_streams_take_turns_as_played(streams: tuple[Stream, Stream]) -> None:
    program = crossing(*streams)
    profile = load_profile("generic").with_values({"router_buffer_words": 64, "hop_cycles": 1})
    machine = FastMachine(program, profile)
    assert machine.certificate.granted
    found = machine.run(edges=data(*streams)).result
    expected = played(*streams)
    for number in (0, 1):
        cycles = found.edges[f"o{number}"].cycles[0]
        assert (cycles - cycles[0]).tolist() == [c - expected[number][0] for c in expected[number]]
    ahead = found.edges["o1"].cycles[0, 0] - found.edges["o0"].cycles[0, 0]
    assert ahead == expected[1][0] - expected[0][0]


@pytest.mark.random
@pytest.mark.parametrize("seed", range(12))
def test_many_streams_on_one_link(seed: int) -> None:
    """Up to six rivals, with shallow buffers, as the reference engine has it."""
    rng = np.random.default_rng(seed)
    streams = [
        (int(rng.integers(1, 40)), int(rng.integers(1, 5)), int(rng.integers(0, 30)))
        for _ in range(int(rng.integers(2, 7)))
    ]
    profile = load_profile("generic").with_values({"router_buffer_words": 2 + seed % 3})
    program = crossing(*streams)
    machine = FastMachine(program, profile)
    found = machine.run(edges=data(*streams)).result
    expected = Machine(program, profile).run(edges=data(*streams))
    assert machine.certificate.granted
    for name, stream in expected.edges.items():
        assert np.array_equal(found.edges[name].cycles, stream.cycles), name
    assert found.cycles == expected.cycles


def product_like(size: int, words: int) -> Program:
    """Streams along rows and along columns, which each element takes in turn from its ramp."""
    b = ProgramBuilder("product", size, size)
    code = b.code("element")
    task = code.task("work", entry=True)
    for queue, (color, side, rx, onward) in enumerate((("a", "W", "W", "E"), ("b", "N", "N", "S"))):
        b.color(color)
        b.edge_input(EdgeInput(f"i{color}", side, 0, size, color, "f32", 2 * words))
        code.buffer(f"of_{color}", "f32", words)
        code.mem1d(f"tile_{color}", f"of_{color}", words)
        code.input_queue(queue, color)
        code.fabin(f"in_{color}", queue, words)
        inner, last = (size, size - 1), (size, 1)
        if onward == "S":
            inner, last = inner[::-1], last[::-1]
        b.route(color, Area(0, 0, *inner), rx=rx, tx=f"R{onward}")
        row, column = (size - 1, 0) if onward == "S" else (0, size - 1)
        b.route(color, Area(row, column, *last), rx=rx, tx="R")
    with task.loop("period", 2):
        for color in "ab":
            task.op("fmovs", f"tile_{color}", f"in_{color}")
        task.op("fmuls", "tile_a", "tile_a", "tile_b")
    b.placement(np.zeros((size, size), dtype=np.int32))
    return b.build()


@pytest.mark.parametrize(("size", "words"), [(2, 40), (4, 300), (6, 150)])
def test_a_stream_that_waits_for_another_one_settles_soon(size: int, words: int) -> None:
    profile = load_profile("wse3-sdk-sim")
    machine = FastMachine(product_like(size, words), profile)
    assert machine.division.contended.any()
    assert machine.certificate.granted, machine.certificate.reason
    assert machine.certificate.evaluations < 12 * machine.certificate.units
    assert machine.cycles == Machine(product_like(size, words), profile).cycles()


def scattered(draw: np.random.Generator) -> Program:
    """Draw streams that share several links of each router, one of them behind filters.

    `a` goes along rows, each element takes its own part of it; `b` goes down columns, `c` along
    rows, and every element takes all of both; `d` goes along rows to the border. They share links
    to the east and to the element, so all four are one group, but `b` and `d` share no link.
    """
    size, words = int(draw.integers(2, 5)), int(draw.integers(1, 9))
    b = ProgramBuilder("scattered", size, size)
    for color in "abcd":
        b.color(color)
    for column in range(size):
        code = b.code(f"column{column}")
        task = code.task("work", entry=True)
        b.place(f"column{column}", Area(0, column, size, 1))
        for queue, (color, parts) in enumerate((("a", 1), ("b", 2), ("c", 1))):
            code.buffer(color, "f32", parts * words)
            code.mem1d(f"tile_{color}", color, parts * words)
            code.input_queue(queue, color)
            code.fabin(f"in_{color}", queue, parts * words)
        with task.loop("period", 3):
            for color in draw.permutation(list("abc")).tolist():
                task.op("fmovs", f"tile_{color}", f"in_{color}")
        counter = CounterFilter(size * words, words, -column * words % (size * words))
        onward = "E" if column < size - 1 else ""
        b.route("a", Area(0, column, size, 1), rx="W", tx=f"R{onward}", filter=counter)
        b.route("c", Area(0, column, size, 1), rx="W", tx=f"R{onward}")
    b.route("b", Area(0, 0, size - 1, size), rx="N", tx="RS")
    b.route("b", Area(size - 1, 0, 1, size), rx="N", tx="R")
    b.route("d", Area(0, 0, size, size), rx="W", tx="E")
    amounts = {"a": size * words, "b": 2 * words, "c": words, "d": int(draw.integers(1, 30))}
    for color, amount in amounts.items():
        side, times = (
            "N" if color == "b" else "W",
            (int(draw.integers(1, 3)), int(draw.integers(20))),
        )
        b.edge_input(EdgeInput(f"i{color}", side, 0, size, color, "f32", 3 * amount, *times))
    b.edge_output(EdgeOutput("od", "E", 0, size, "d", "f32", 3 * amounts["d"]))
    return b.build()


@pytest.mark.random
def test_groups_of_links_as_the_reference_engine_has_them() -> None:
    """Filters, and words that want two links: cycles are equal wherever there is a certificate."""
    granted = 0
    for seed in range(20):
        program = scattered(np.random.default_rng(seed))
        profile = load_profile("generic").with_values({"router_buffer_words": 2 + seed % 3})
        machine = FastMachine(program, profile)
        if machine.certificate.granted:
            assert machine.division.contended.any()
            assert machine.cycles == Machine(program, profile).cycles()
            granted += 1
    assert granted >= 10
