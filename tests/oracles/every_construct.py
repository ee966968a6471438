"""A program with every construct of the text form; it is not meant to run."""

from __future__ import annotations

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import (
    Area,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    Position,
    RangeFilter,
    Switch,
)


def everything() -> Program:
    """Return a program with every construct of the text form."""
    b = ProgramBuilder("all constructs", 2, 2)
    b.color("x")
    b.color('a "quoted" color', 7)
    code = b.code("main")
    code.buffer("v", "f32", (2, 4))
    code.buffer("h", "i16", 8)
    code.buffer("store", "f32", 4)
    code.mem1d("row", "v", 4, wavelet_index_offset=True)
    code.mem1d("four", "v", 4, stride=-1, offset=3)
    code.mem4d("all", "v", [(2, 4), (4, 1)])
    code.circbuf("ring", "h", 20, 5)
    code.circbuf("whole", "h", 8)
    code.fifo(
        "fifo", "store", empty_action="terminate", activate_push="later", dest=2, src=2, xdsr=1
    )
    code.input_queue(2, "x", "medium")
    code.output_queue(3, 'a "quoted" color')
    code.main_priority("high")
    code.fabin("in", 2, 4, control_transform=True, priority="high")
    code.fabout("out", 3, 4, advance_switch=True, zero="second")
    code.fabout("command", 3, 1, control=True)
    code.load(
        Register("src1", 3),
        "in",
        asynchronous=True,
        microthread=3,
        on_control=("activate", "later"),
    )
    main = code.task("main", entry=True, blocked=True)
    main.set("k", 3)
    main.increment("k", -1)
    main.point("p", "v", 2)
    with main.loop("i", 2) as i:
        main.op("fmovs", Ref("four").at(i * 4 + variable("k") - 3), code.element("v", i + 1))
        with main.when_below("k", 2):
            main.op("mov32", "command", 5)
        with main.otherwise():
            main.activate("later")
            main.block("later")
    main.op("mov16", "ring", variable("k") + 1)
    main.op("fmovs", code.element("v"), "fifo", result="ok")
    main.op("fmovs", "row", "four", index=variable("k"))
    main.start(
        "fmovs",
        "out",
        "four",
        activate="later",
        microthread=5,
        label="to the north",
        priority="low",
    )
    main.start("fmovs", "fifo", "in", on_control=("terminate", None))
    main.compute("f", "mul", code.element("v", 3), 0.1, dtype="f32")
    main.compute("f", "add", "f", float("inf"), dtype="f32")
    main.set_read_length("fifo", 2)
    main.reconfigure(
        "x",
        rx="N",
        tx="R",
        switch=Switch((Position(tx=("E",)),)),
        filter=CounterFilter(5, 4, filter_control=True),
    )
    main.end_teardown("x", 1)
    main.flush_output(3)
    main.flush_input(2)
    main.block_microthread(5)
    main.unblock_microthread(5)
    later = code.task("emptied", empty_output=3)
    later.bind_output(3, "x")
    code.task("drained", empty_input=2).bind_input(2, "y")
    main.load(Register("src0", 1), Ref("all").at(variable("k")), xdsr=2, strides=(1, 2, 3))
    main.load(Register("dest", 4), "four", save_address=True)
    with main.map(("a", "four"), ("b", Register("src1", 5)), output=("c", "four")):
        main.compute("c", "add", "a", "b", dtype="f32")
    later = code.task("later")
    later.unblock("main")
    data = code.data_task("data", 2, [("value", "i16"), ("index", "u16")])
    data.set("seen", 1)
    code.control_task("stop", 5, [("value", "u16")], blocked=True)
    b.code("idle").task("nothing")
    b.place("idle", Area(0, 0, 2, 2))
    b.place("main", Area(1, 1))
    switch = Switch(
        (Position(tx=("W",)), Position(rx=("R",))), current=1, ring=True, pop="always_pop"
    )
    b.route("x", Area(1, 1), rx="N", tx="RE", switch=switch, filter=RangeFilter(1, 5))
    b.color("y", 1)
    b.route("x", Area(0, 1), rx="N", tx="SR", filter=CounterFilter(5, 4, other_limit=7), swap="xy")
    b.route("y", Area(0, 0), rx="N", tx="R", teardown=True)
    b.edge_input(EdgeInput("xs", "N", 1, 1, "x", "f32", 8, interval=2, start=5))
    b.edge_output(EdgeOutput("y s", "E", 1, 1, "x", "f32", 8))
    return b.build()
