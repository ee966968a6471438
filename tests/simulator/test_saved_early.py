"""A register that saves its address, after an operation that ended before its last element."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Register
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

DEST, SRC1 = Register("dest", 1), Register("src1", 1)
FLAT, ROWS = range(2)


def received(words: int, shape: int) -> list[int]:
    """Receive some words, a control wavelet that ends the operation, and the full length again."""
    length = 4 if shape == FLAT else 6
    b = ProgramBuilder("early", 1, 2)
    b.color("x")
    send = b.code("send")
    send.buffer("v", "u16", words + length)
    send.mem1d("begin", "v", max(words, 1))
    send.mem1d("rest", "v", length, offset=words)
    send.output_queue(3, "x")
    send.fabout("some", 3, max(words, 1))
    send.fabout("stop", 3, 1, control=True)
    send.fabout("all", 3, length)
    main = send.task("main", entry=True)
    if words:
        main.op("mov16", "some", "begin")
    main.op("mov32", "stop", control_wavelet())
    main.op("mov16", "all", "rest")
    _receiver(b.code("receive"), length, shape)
    b.place("send", Area(0, 0))
    b.place("receive", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    values = {(0, 0): np.arange(1, words + length + 1)}
    memory = Machine(b.build(), load_profile("wse3-sdk-sim")).run(memory={"v": values}).memory
    return [int(value) for value in memory["got"][0, 1]]


def _receiver(code: CodeBuilder, length: int, shape: int) -> None:
    code.buffer("got", "u16", 24)
    if shape == FLAT:
        code.mem1d("into", "got", length)
    else:
        code.mem4d("into", "got", [(3, 4), (2, 1)])
    code.load(DEST, "into", save_address=True, **({"xdsr": 0} if shape == ROWS else {}))
    code.input_queue(2, "x")
    code.fabin("in", 2, length)
    begin = code.task("begin", entry=True)
    begin.start("mov16", DEST, "in", activate="again", on_control=("terminate", None))
    code.task("again").op("mov16", DEST, "in")


@pytest.mark.parametrize("words", [0, 1, 3])
def test_after_a_control_wavelet_the_next_use_goes_on(words: int) -> None:
    assert received(words, FLAT) == [*range(1, words + 5), *[0] * (20 - words)]


@pytest.mark.parametrize("words", [0, 1, 2, 3, 5])
def test_of_several_dimensions_the_outermost_moves(words: int) -> None:
    """Rows of two words, four apart; the second use begins with a row that has no word yet."""
    expected = [0] * 24
    rows = [*range(-(-words // 2)), *range(-(-words // 2), -(-words // 2) + 3)]
    places = [4 * row + k for row in rows for k in range(2)]
    first, second = places[:words], places[2 * -(-words // 2) :]
    for value, place in enumerate([*first, *second], 1):
        expected[place] = value
    assert received(words, ROWS) == expected


@pytest.mark.parametrize("elements", [1, 2])
def test_a_register_that_walks_out_before_the_first_word(elements: int) -> None:
    """Down from word 1, two at a time: the second use would begin before the buffer."""
    b = ProgramBuilder("down", 1, elements)
    code = b.code("only")
    code.buffer("v", "u16", 4)
    code.buffer("got", "u16", 2)
    code.mem1d("down", "v", 2, stride=-1, offset=1)
    code.mem1d("two", "got", 2)
    code.load(SRC1, "down", save_address=True)
    main = code.task("main", entry=True)
    main.op("mov16", "two", SRC1)
    main.op("mov16", "two", SRC1)
    b.place("only", Area(0, 0, 1, elements))
    with pytest.raises(MachineError, match="holds leaves buffer v of 4 elements"):
        Machine(b.build(), load_profile("wse3-sdk-sim")).run()


@pytest.mark.parametrize("held", [1, 3])
def test_after_an_empty_fifo_the_next_use_goes_on(held: int) -> None:
    """A synchronous test_or_suspend ends the operation with what the FIFO held."""
    b = ProgramBuilder("fifo", 1, 1)
    code = b.code("only")
    code.buffer("room", "u16", 8)
    code.buffer("v", "u16", 8)
    code.buffer("got", "u16", 12)
    code.fifo("ring", "room")
    code.mem1d("some", "v", held)
    code.mem1d("four", "v", 4, offset=held)
    code.mem1d("into", "got", 4)
    code.load(DEST, "into", save_address=True)
    main = code.task("main", entry=True)
    main.op("mov16", "ring", "some")
    main.op("mov16", DEST, "ring")
    main.op("mov16", "ring", "four")
    main.set_read_length("ring", 4)
    main.op("mov16", DEST, "ring")
    b.place("only", Area(0, 0))
    values = np.arange(1, 9)[None, None]
    memory = Machine(b.build(), load_profile("wse3-sdk-sim")).run(memory={"v": values}).memory
    assert memory["got"].ravel().tolist() == [*range(1, held + 5), *[0] * (8 - held)]
