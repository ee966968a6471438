"""Small programs of known cost: chain and two-phase sums, messages, relays, one operation."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area

RECEIVE, SEND = 2, 3
"""Queues of the examples."""


def chain_reduce(elements: int, words: int) -> Program:
    """Return a program that sums vectors along a row of elements into its west end.

    Each element has a vector of `words` f32 in the buffer `v`; it adds its own to the stream from
    the east and passes it on. Neighbours use two alternating colors. Raises ProgramError for less
    than two elements or a word.
    """
    if elements < 2 or words < 1:
        raise ProgramError("a chain has two or more elements, and words", value=(elements, words))
    b = ProgramBuilder("chain_reduce", 1, elements)
    colors = (b.color("even"), b.color("odd"))
    for column in range(elements):
        parity = column % 2
        if column:
            b.route(colors[parity], Area(0, column), rx="R", tx="W")
        if column < elements - 1:
            b.route(colors[1 - parity], Area(0, column), rx="E", tx="R")
    for name, parity in (("west", 0), ("even", 0), ("odd", 1), ("east", (elements - 1) % 2)):
        _chain_code(b.code(name), name, (colors[1 - parity], colors[parity]), words)
    b.place("even", Area(0, 0, 1, elements))
    for column in range(1, elements, 2):
        b.place("odd", Area(0, column))
    b.place("east", Area(0, elements - 1))
    b.place("west", Area(0, 0))
    return b.build()


def _chain_code(code: CodeBuilder, name: str, colors: tuple[str, str], words: int) -> None:
    """Write the code of an element of a chain; `colors`: from the east, to the west."""
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    if name != "east":
        code.input_queue(RECEIVE, colors[0])
        code.fabin("in", RECEIVE, words)
    if name != "west":
        code.output_queue(SEND, colors[1])
        code.fabout("out", SEND, words)
    main = code.task("main", entry=True)
    if name == "east":
        main.op("fmovs", "out", "all")
    else:
        main.op("fadds", "all" if name == "west" else "out", "all", "in")


def two_phase_reduce(elements: int, words: int, group: int) -> Program:
    """Return a program that sums vectors along a row in two phases: inside groups, then over them.

    Both phases are chains, the second one of the groups' heads. Each of the `elements` has a vector
    of `words` f32 in the buffer `v`; the sum ends at the west end. `group` (at least 2) divides
    `elements`. The phases have colors of their own, so the farthest head must finish the first
    before it sends: words sent earlier would fill the routers on the way and take turns with the
    first phase on the links. Raises ProgramError for groups that do not divide, and for one alone.
    """
    _check_groups(elements, words, group)
    b = ProgramBuilder("two_phase_reduce", 1, elements)
    group_colors = (b.color("near_even"), b.color("near_odd"))
    head_colors = (b.color("far_even"), b.color("far_odd"))
    for parity in (0, 1):
        _member_code(b.code(f"inner_{parity}"), group_colors, parity, words, first=False)
        _member_code(b.code(f"tail_{parity}"), group_colors, parity, words, first=True)
    groups = elements // group
    for parity in (0, 1):
        colors = (head_colors[parity], head_colors[1 - parity])
        _head_code(b.code(f"head_{parity}"), group_colors[1], *colors, words)
    _head_code(b.code("root"), group_colors[1], None, head_colors[1], words)
    farthest = head_colors[(groups - 1) % 2]
    _head_code(b.code("farthest"), group_colors[1], farthest, None, words)
    for column in range(elements):
        number, position = divmod(column, group)
        role = "inner" if position < group - 1 else "tail"
        b.place(f"{role}_{position % 2}" if position else f"head_{number % 2}", Area(0, column))
        _group_routes(b, column, group, group_colors)
        if position == 0 and number:
            b.route(head_colors[number % 2], Area(0, column), rx="R", tx="W")
        if number < groups - 1:
            tx = "W" if position else "R"
            b.route(head_colors[1 - number % 2], Area(0, column), rx="E", tx=tx)
    b.place("farthest", Area(0, elements - group))
    b.place("root", Area(0, 0))
    return b.build()


def _check_groups(elements: int, words: int, group: int) -> None:
    if group < 2 or elements % group or elements == group or words < 1:
        raise ProgramError(
            "two or more groups of two or more elements share a row, and have words",
            value=(elements, words, group),
            instead="a group that divides the elements; one group is a chain (chain_reduce)",
        )


def _group_routes(b: ProgramBuilder, column: int, group: int, colors: Sequence[str]) -> None:
    """Route the chain inside a group at a column: out to the west, in from the east."""
    position = column % group
    if position:
        b.route(colors[position % 2], Area(0, column), rx="R", tx="W")
    if position < group - 1:
        b.route(colors[1 - position % 2], Area(0, column), rx="E", tx="R")


def message(words: int, hops: int) -> Program:
    """Return a program that sends `words` f32 over `hops` links to a receiver in the same row.

    The receiver stores them in its buffer `v` and then activates its task `done`. Raises
    ProgramError without words or links.
    """
    if hops < 1 or words < 1:
        raise ProgramError("a message has words, and goes over a link or more", value=(words, hops))
    b = ProgramBuilder("message", 1, hops + 1)
    color = b.color("message")
    _sender(b.code("sender"), color, words)
    _receiver(b.code("receiver"), color, words)
    b.code("between")
    b.place("between", Area(0, 0, 1, hops + 1))
    b.place("sender", Area(0, 0))
    b.place("receiver", Area(0, hops))
    b.route(color, Area(0, 0), rx="R", tx="E")
    if hops > 1:
        b.route(color, Area(0, 1, 1, hops - 1), rx="W", tx="E")
    b.route(color, Area(0, hops), rx="W", tx="R")
    return b.build()


def relay(stages: int, words: int) -> Program:
    """Return a program that passes a vector of `words` f32 from element to element, `stages` times.

    Each element stores the whole vector before it sends it on. Raises ProgramError without stages
    or words.
    """
    if stages < 1 or words < 1:
        raise ProgramError("a relay has stages and words", value=(stages, words))
    b = ProgramBuilder("relay", 1, stages + 1)
    colors = (b.color("even"), b.color("odd"))
    _sender(b.code("sender"), colors[0], words)
    for name, parity in (("odd", 1), ("even", 0)):
        code = b.code(name)
        receiver = _receiver(code, colors[1 - parity], words)
        code.output_queue(SEND, colors[parity])
        code.fabout("out", SEND, words)
        receiver.op("fmovs", "out", "all")
    for parity in (0, 1):
        _receiver(b.code(f"last_{parity}"), colors[1 - parity], words)
    for column in range(1, stages):
        b.place("odd" if column % 2 else "even", Area(0, column))
    b.place("sender", Area(0, 0))
    b.place(f"last_{stages % 2}", Area(0, stages))
    for column in range(stages):
        b.route(colors[column % 2], Area(0, column), rx="R", tx="E")
        b.route(colors[column % 2], Area(0, column + 1), rx="W", tx="R")
    return b.build()


def vector_operation(operation: str, extent: int, sources: int, dtype: str) -> Program:
    """Return a program of one element that runs one operation on memory vectors.

    The vectors have `extent` values of a dtype: `dest`, `a`, and with two `sources` also `b`.
    """
    b = ProgramBuilder(operation, 1, 1)
    code = b.code("main")
    names = ["dest", "a", "b"][: sources + 1]
    for name in names:
        code.buffer(name, dtype, extent)
        code.mem1d(f"all_{name}", name, extent)
    code.task("main", entry=True).op(operation, *(f"all_{name}" for name in names))
    b.place("main", Area(0, 0))
    return b.build()


def _member_code(
    code: CodeBuilder, colors: Sequence[str], parity: int, words: int, *, first: bool
) -> None:
    """Declare an element of a group's chain that is not its head; the first one only sends."""
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    code.output_queue(SEND, colors[parity])
    code.fabout("out", SEND, words)
    main = code.task("main", entry=True)
    if first:
        main.op("fmovs", "out", "all")
        return
    code.input_queue(RECEIVE, colors[1 - parity])
    code.fabin("in", RECEIVE, words)
    main.op("fadds", "out", "all", "in")


def _head_code(
    code: CodeBuilder, group_color: str, send: str | None, receive: str | None, words: int
) -> None:
    """Declare a group's head.

    send, receive: its colors in the chain of heads; None at the root, and at the farthest head.
    """
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    code.input_queue(RECEIVE, group_color)
    code.fabin("in", RECEIVE, words)
    main = code.task("main", entry=True)
    if send is not None:
        code.output_queue(SEND, send)
        code.fabout("far_out", SEND, words)
    main.op("fadds", "all", "all", "in")
    if receive is None:
        main.op("fmovs", "far_out", "all")
        return
    code.input_queue(RECEIVE + 1, receive)
    code.fabin("far_in", RECEIVE + 1, words)
    main.op("fadds", "all" if send is None else "far_out", "all", "far_in")


def _sender(code: CodeBuilder, color: str, words: int) -> None:
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    code.output_queue(SEND, color)
    code.fabout("out", SEND, words)
    code.task("send", entry=True).op("fmovs", "out", "all", label="send")


def _receiver(code: CodeBuilder, color: str, words: int) -> TaskBuilder:
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    code.input_queue(RECEIVE, color)
    code.fabin("in", RECEIVE, words)
    task = code.task("receive", entry=True)
    task.start("fmovs", "all", "in", activate="done", label="receive")
    return code.task("done")
