"""Builders that are given anything at all: a program that runs and prints, or an error of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from explore import enough

from tilewright.arch.errors import TilewrightError
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Element, Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput, Switch
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

ANYTHING: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2, 3, 7, 8, 255, 65536, 2**31, 2**63, 2**70, 1.5, float("inf")),
    *("", "x", "y", "all", "v", "out", "in", "a b", 'q"uo\nte', "é", b"x", "f32", "i16", "NE"),
    *((), (1,), ("N",), [], [1, 2], {}, {"a": 1}, object, Ref("all"), Element("v")),
    *(Register("dest", 1), Register("src1", 99), variable("k") * 3 + 1, np.int64(4)),
    *(np.float32(2), np.array([1, 2]), Area(0, 0), Area(-1, 0), Area(0, 0, 9, 9), Switch(())),
    *("main", "later", "|i|{5} -> v[i]", ("terminate", None), ("activate", "later")),
)


class Replaced:
    """Gives back what it is given, but something else for a few of the first 80 values."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.chosen = {
            int(n): ANYTHING[int(rng.integers(len(ANYTHING)))]
            for n in rng.integers(80, size=int(rng.integers(1, 4)))
        }
        self.given = 0

    def __call__(self, value: Any) -> Any:
        self.given += 1
        return self.chosen.get(self.given, value)


def build(some: Replaced) -> Program:
    b = ProgramBuilder(some("p"), height=some(1), width=some(2))
    b.color(some("x"), some(0))
    b.color("y")
    code = b.code(some("main"))
    declare(code, some)
    instruct(code, some)
    b.code("other").task("t")
    b.place(some("main"), some(Area(0, 0)))
    b.place("other", Area(0, 1))
    b.route(some("x"), some(Area(0, 0)), rx=some("W"), tx=some("R"))
    b.route("y", Area(0, 0), rx=some("R"), tx=some("W"), switch=some(None), filter=some(None))
    numbers = (some(0), some(1), some("x"), some("f32"), some(8), some(1), some(0))
    b.edge_input(EdgeInput(some("xs"), some("W"), *numbers))
    b.edge_output(EdgeOutput(some("ys"), some("W"), some(0), some(1), "y", some("f32"), some(8)))
    return b.build()


def declare(code: CodeBuilder, some: Replaced) -> None:
    code.buffer(some("v"), some("f32"), some((8,)), some(None))
    code.buffer("s", "f32", 4)
    code.mem1d(some("all"), some("v"), some(8), some(None), some(None))
    code.mem1d("half", "v", some(4), stride=some(2), wavelet_index_offset=some(False))
    code.mem4d("grid", some("v"), some([(2, 4), (4, 1)]), offset=some(0))
    code.circbuf("ring", "v", some(8), some(3))
    code.fifo("f", some("s"), empty_action=some("terminate"), activate_pop=some(None))
    code.input_queue(some(2), some("x"), some(""))
    code.output_queue(some(3), some("y"))
    code.fabin("in", some(2), some(8), priority=some(""), simd=some(""))
    code.fabout("out", some(3), some(8), zero=some(""), control=some(False))
    code.load(some(Register("src1", 1)), some("all"), on_control=some(None), xdsr=some(None))


def instruct(code: CodeBuilder, some: Replaced) -> None:
    code.main_priority("low")  # the send ends, and activates `later`, before main does
    main = code.task(some("main"), entry=some(True), teardown=some(None))
    main.op(some("fadds"), some("all"), some("all"), some(1.0), label=some(""), index=some(None))
    main.op("fmovs", some("half"), some(Ref("half").at(0)), result=some(None))
    main.start(some("fmovs"), some("out"), some("all"), activate=some("later"))
    with main.loop(some("i"), some(3)) as i:
        main.op("fmovs", code.element(some("v"), some(i)), some("half"))
    with main.when_below(some("k"), some(2)):
        main.set(some("k"), some(3))
    main.compute(some("t"), some("add"), some("t"), some(1), dtype=some("i32"))
    main.activate(some("later"))
    later = code.task("later")
    later.op("fmovs", some("all"), some("in"))
    later.load(some(Register("dest", 2)), some("all"))


def outcome(seed: int) -> str:
    """A program that holds prints and parses back to an equal one, and runs or stops named."""
    try:
        program = build(Replaced(seed))
    except TilewrightError as error:
        return str(error).splitlines()[0][-30:]
    assert parse_program(print_program(program)) == program
    try:
        edges = {p.name: np.zeros((p.positions, p.count)) for p in program.edge_inputs}
        Machine(program, load_profile("wse3-sdk-sim")).run(edges=edges, max_cycles=10_000)
    except TilewrightError as error:
        return str(error).splitlines()[0][-30:]
    return "result"


def test_a_program_or_a_named_error() -> None:
    found = {outcome(seed) for seed in range(150)}
    assert "result" in found
    assert len(found) > 30


@pytest.mark.nightly
def test_a_thousand(shift: int) -> None:
    assert enough(len({outcome(seed) for seed in range(shift, shift + 1000)}), 61)


def unknown() -> Iterator[tuple[str, Any]]:
    b = ProgramBuilder("p", 1, 1)
    b.color("x")
    code = b.code("m")
    task = code.task("t")
    yield "code m, DSD d: unknown property strid", lambda: code.mem1d("d", "v", 4, strid=1)
    yield "code m, DSD d: unknown property extend", lambda: code.fabin("d", 2, 4, extend=1)
    yield (
        "load of dsr_src1 1: unknown property ut",
        lambda: task.load(Register("src1", 1), "d", ut=5),
    )
    yield (
        "task t, @fmovs: unknown property ut",
        lambda: task.start("fmovs", "out", "all", ut=5),  # type: ignore[call-arg]
    )
    yield (
        "route of color x: unknown property tear",
        lambda: b.route("x", Area(0, 0), rx="W", tx="R", tear=True),
    )
    yield "placement of code m: the area leaves the grid", lambda: b.place("m", Area(0, 0, 1, 2))
    yield (
        "on_control is an action and a task",
        lambda: task.start("fmovs", "all", "in", on_control="terminate"),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(("what", "call"), list(unknown()))
def test_unknown_properties_are_named(what: str, call: Any) -> None:
    with pytest.raises(ProgramError) as caught:
        call()
    assert caught.value.what == what
