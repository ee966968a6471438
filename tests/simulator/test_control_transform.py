"""Control wavelets through FIFOs and memory: control_transform and the two bits that it needs."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

WSE3 = load_profile("wse3-sdk-sim")


@pytest.mark.row("000.103", "000.104")
@pytest.mark.parametrize("transform", [True, False])
def test_control_wavelets_are_relayed_through_a_fifo(transform: bool) -> None:
    """With control_transform at both ends the last wavelet ends the stream behind the FIFO."""
    words = 6
    b = ProgramBuilder("relay", 1, 3)
    for name in "xy":
        b.color(name)
    send, relay, end = (b.code(name) for name in ("send", "relay", "end"))
    send.buffer("v", "u16", words)
    send.mem1d("all", "v", words)
    send.output_queue(3, "x")
    send.fabout("out", 3, words)
    send.fabout("last", 3, 1, control=True)
    main = send.task("main", entry=True)
    main.op("mov16", "out", "all")
    main.op("mov32", "last", control_wavelet("nop", entry=9, data=44))
    relay.buffer("store", "u32", 3)
    relay.fifo("fifo", "store")
    relay.input_queue(2, "x")
    relay.output_queue(3, "y")
    relay.fabin("in", 2, words + 1, control_transform=transform)
    relay.fabout("out", 3, words + 1, control_transform=transform)
    both = relay.task("main", entry=True)
    both.start("mov32", "fifo", "in")
    both.start("mov32", "out", "fifo")
    end.buffer("seen", "u16", 2)
    end.input_queue(2, "y")
    data = end.data_task("data", 2, [("value", "u16")])
    data.compute("count", "add", "count", 1, dtype="u16")
    data.compute(end.element("seen", 0), "mov", "count", dtype="u16")
    control = end.control_task("control", 9, [("value", "u16")])
    control.compute(end.element("seen", 1), "mov", "value", dtype="u16")
    for column, name in enumerate(("send", "relay", "end")):
        b.place(name, Area(0, column))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    b.route("y", Area(0, 1), rx="R", tx="E")
    b.route("y", Area(0, 2), rx="W", tx="R")
    result = Machine(b.build(), WSE3).run()
    assert result.memory["seen"][0, 2].tolist() == ([words, 44] if transform else [words + 1, 0])


TRANSFORM = """
program transform 1 x 1
color x 0
color y 1
code main
  buffer v u32 [2]
  mem1d all v extent 2
  input_queue 2 x
  output_queue 3 y
  fabin in queue 2 extent 2{control_in}
  fabout out queue 3 extent 2{control_out}
  task main entry
    @mov32 {operands}
place main [0:1, 0:1]
route x [0:1, 0:1] rx W tx R
route y [0:1, 0:1] rx R tx E
edge_input xs side W [0:1] color x u32 count 2{edge}
edge_output ys side E [0:1] color y u32 count {count}
"""


@pytest.mark.row("000.105")
@pytest.mark.parametrize("comes", [True, False])
@pytest.mark.parametrize("word", [0x3FFFFFFF, 0x40000000, 0x80000000, 0xC0000000])
def test_control_transform_leaves_thirty_bits(word: int, comes: bool) -> None:
    """What the two top bits of a data wavelet would say is lost on the chip: an error here."""
    operands = "all, in\n    @mov32 out, all" if comes else "out, in"
    bits = {"control_in": " control_transform", "control_out": ""}
    text = TRANSFORM.format(
        operands=operands,
        edge="",
        count=2,
        **(bits if comes else {"control_in": "", "control_out": " control_transform"}),
    )
    machine = Machine(parse_program(text, "t.txt"), WSE3)
    legal = word >> 30 == 0 or (word >> 30 == 3 and not comes)  # out: 11 makes a control wavelet
    if legal:
        found = machine.run(edges={"xs": np.array([[5, word]])}).edges["ys"].values
        assert found.tolist() == [[5, word & 0x3FFFFFFF]]
        return
    with pytest.raises(MachineError) as caught:
        machine.run(edges={"xs": np.array([[5, word]])})
    assert caught.value.what.endswith(
        "element (0, 0), code main, task main, @mov32: a wavelet of a queue with "
        f"control_transform uses its two top bits: {word:#010x}"
    )
    assert caught.value.where is not None
    assert caught.value.where.line == 13


RST, ADV = "switch_rst", "switch_adv"
COMMANDS = [
    (control_wavelet(RST, RST, entry=3), True),
    (control_wavelet(RST, RST, RST, entry=63, data=0xFFFF), True),
    (control_wavelet(RST, RST, RST, ignore_ce=[False, False, True]), False),
    (control_wavelet(RST, RST, RST, ADV), False),
]


@pytest.mark.parametrize(("word", "legal"), COMMANDS)
def test_control_transform_leaves_thirty_bits_of_a_control_wavelet(word: int, legal: bool) -> None:
    text = TRANSFORM.format(
        operands="all, in\n    @mov32 out, all",
        edge=" control",
        control_in=" control_transform",
        control_out="",
        count=2,
    )
    machine = Machine(parse_program(text), WSE3)
    values = np.array([[control_wavelet("nop"), word]])
    if legal:
        found = machine.run(edges={"xs": values}).edges["ys"].values
        assert found.tolist() == [[0xC0000000, 0xC0000000 | word]]
        return
    with pytest.raises(MachineError, match="uses its two top bits"):
        machine.run(edges={"xs": values})
