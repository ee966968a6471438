"""Wavelets that carry two values, in every mode and mixture; FIFOs with modes; refusals."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import ENDLESS
from tilewright.simulator.isa.machine_errors import DeadlockError, ProgramError
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.routes import Area, EdgeOutput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

WSE3 = load_profile("wse3-sdk-sim")
WSE2 = load_profile("wse2-sdk-sim")
MODES = ("", "simd_32", "simd_64", "simd_32_or_64")


def relay(modes: tuple[str, str, str, str], words: int, depth: int = 3) -> ProgramBuilder:
    """Three elements: the middle one adds 1; modes of its neighbours' and its own queues."""
    b = ProgramBuilder("relay", 1, 3)
    x, y = b.color("x"), b.color("y")
    for name, color in (("send", x), ("add", y)):
        code = b.code(name)
        code.buffer("v", "u16", words)
        code.mem1d("all", "v", words)
        code.output_queue(3, color)
        code.fabout("out", 3, words, simd=modes[0 if name == "send" else 2])
        if name == "send":
            code.task("main", entry=True).op("mov16", "out", "all")
    code.input_queue(2, x)
    code.fabin("in", 2, words, simd=modes[1])
    code.task("main", entry=True).start("add16", "out", "in", 1)
    code = b.code("keep")
    code.buffer("v", "u16", words)
    code.mem1d("all", "v", words)
    code.input_queue(2, y)
    code.fabin("in", 2, words, simd=modes[3])
    code.task("main", entry=True).op("mov16", "all", "in")
    for column, name in enumerate(("send", "add", "keep")):
        b.place(name, Area(0, column))
    b.route(x, Area(0, 0), rx="R", tx="E")
    b.route(x, Area(0, 1), rx="W", tx="R")
    b.route(y, Area(0, 1), rx="R", tx="E")
    b.route(y, Area(0, 2), rx="W", tx="R")
    return b


def run(b: ProgramBuilder, words: int, profile: Profile = WSE3) -> RunResult:
    v = np.arange(words) * 257 % 65536
    program = b.build()
    assert parse_program(print_program(program)) == program
    found = Machine(program, profile).run(memory={"v": {(0, 0): v}})
    again = Machine(program, profile).run(memory={"v": {(0, 0): v}}, shuffle=3)
    assert again.cycles == found.cycles
    assert found.memory["v"][0, 2].tolist() == ((v + 1) % 65536).tolist()
    return found


@pytest.mark.parametrize("sent", MODES)
@pytest.mark.parametrize("received", MODES)
@pytest.mark.parametrize("profile", [WSE2, WSE3], ids=lambda p: p.name)
def test_every_mixture_moves_the_same_values(sent: str, received: str, profile: Profile) -> None:
    pairs = (bool(sent), bool(received))
    first = "simd_32" if pairs[1] else ""
    last = "simd_32" if pairs[0] else ""
    found = run(relay((first, received, sent, last), 64), 64, profile)
    words = found.trace.link_words[0, :, 1]
    assert words.tolist() == [32 if pairs[1] else 64, 32 if pairs[0] else 64, 0]


@pytest.mark.row("000.98")
@pytest.mark.parametrize("mode", MODES[1:])
def test_pairs_halve_the_time(mode: str) -> None:
    plain = run(relay(("", "", "", ""), 400), 400).cycles
    paired = run(relay((mode,) * 4, 400), 400).cycles
    assert plain - paired == pytest.approx(200, abs=6)


def test_simd_64_waits_for_two_wavelets_and_the_other_mode_does_not() -> None:
    """Six values are three wavelets: the last one alone goes in the mode 32 or 64 only."""
    assert run(relay(("simd_32", "simd_32_or_64", "simd_32", "simd_32"), 6), 6)
    with pytest.raises(ProgramError, match="4 of which go at once"):
        Machine(relay(("simd_32", "simd_64", "simd_32", "simd_32"), 6).build(), WSE3)
    b = ProgramBuilder("short", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("v", "u16", 4)
    code.mem1d("all", "v", 4)
    code.mem1d("two", "v", 2)
    code.output_queue(3, "x")
    code.fabout("out", 3, 2, simd="simd_32")
    code.input_queue(2, "x")
    code.fabin("in", 2, 4, simd="simd_64")
    main = code.task("main", entry=True)
    main.op("mov16", "out", "two")
    main.op("mov16", "all", "in", label="starves")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="R")
    with pytest.raises(DeadlockError, match="starves"):
        Machine(b.build(), WSE3).run(max_cycles=100_000)


@pytest.mark.row("000.99")
@pytest.mark.parametrize("words", [4, 40])
@pytest.mark.parametrize("mode", ["simd_32", "simd_64"])
def test_a_fifo_takes_groups_on_wse2(words: int, mode: str) -> None:
    """A FIFO of 6 values: a group of four needs four places, or four values, at once."""
    b = ProgramBuilder("groups", 1, 1)
    x, y = b.color("x"), b.color("y")
    code = b.code("main")
    code.buffer("v", "u16", words)
    code.mem1d("all", "v", words)
    code.buffer("w", "u16", words)
    code.mem1d("back", "w", words)
    code.buffer("store", "u16", 6)
    code.fifo("fifo", "store", simd=mode)
    for color, queue in ((x, 2), (y, 4)):
        code.input_queue(queue, color)
        code.output_queue(queue + 1, color)
        b.route(color, Area(0, 0), rx="R", tx="R")
    code.fabout("out", 3, words, simd=mode)
    code.fabin("in", 2, words, simd=mode)
    code.fabout("on", 5, words, simd=mode)
    code.fabin("last", 4, words, simd=mode)
    main = code.task("main", entry=True)
    main.start("mov16", "out", "all")
    main.start("mov16", "fifo", "in")
    main.start("mov16", "on", "fifo")
    main.start("mov16", "back", "last")
    b.place("main", Area(0, 0))
    v = np.arange(words, dtype=np.uint16)[None, None]
    result = Machine(b.build(), WSE2).run(memory={"v": v})
    assert result.memory["w"].ravel().tolist() == list(range(words))
    with pytest.raises(ProgramError, match="DSD fifo: FIFOs of wse3-sdk-sim have no SIMD mode"):
        Machine(b.build(), WSE3)


REFUSED = [
    ({"simd": "simd_16"}, "u16", "DSD out: unknown SIMD mode"),
    ({"simd": "simd_32"}, "f32", "SIMD modes are for operations on 16-bit values"),
    ({"simd": "simd_32", "control": True}, "u16", "a SIMD mode leaves no room for an index"),
    ({"simd": "simd_32", "extent": 5}, "u16", "the extent counts values, 2 of which go at once"),
]


@pytest.mark.parametrize(("properties", "dtype", "text"), REFUSED)
def test_refused(properties: dict[str, object], dtype: str, text: str) -> None:
    extent = int(properties.pop("extent", 8))  # type: ignore[call-overload]
    b = ProgramBuilder("refused", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("v", dtype, extent)
    code.mem1d("all", "v", extent)
    code.output_queue(3, "x")
    code.fabout("out", 3, extent, **properties)
    name = "mov16" if dtype == "u16" else "fmovs"
    code.task("main", entry=True).op(name, "out", "all")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.edge_output(EdgeOutput("y", "E", 0, 1, "x", "u32", 4))
    with pytest.raises(ProgramError) as caught:
        Machine(b.build(), WSE3)
    assert text in str(caught.value)
    properties["extent"] = extent


def test_an_endless_stream_of_pairs() -> None:
    b = relay(("simd_32", "simd_32", "simd_32", "simd_32"), 16)
    code = b._codes[1]
    code._dsds[-1] = code._dsds[-1].__class__("in", 2, ENDLESS, simd="simd_32")
    code._dsds[1] = code._dsds[1].__class__("out", 3, ENDLESS, simd="simd_32")
    assert run(b, 16)


def test_the_fast_engine_refuses() -> None:
    program = relay(("simd_32",) * 4, 8).build()
    assert not FastMachine(program, load_profile("generic")).certificate.granted
