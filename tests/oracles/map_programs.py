"""Random programs of one element: maps and scalar instructions of all number types, in loops."""

from __future__ import annotations

import random

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Element, Ref
from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput

VALUES = 24
"""Values of each buffer."""
BINARY = ("add", "sub", "mul", "min", "max")
OF_FLOATS = ("div", "sqrt", "norm", "mov")
OF_INTEGERS = ("div", "and", "or", "xor", "shl", "shr", "mov", "lt", "le", "eq", "ne")
UNARY = ("mov", "sqrt", "norm", "to_int", "from_int", "from_half", "to_half")
NARROW = {"f32": "f16", "f16": "f32"}
TURNS = 3
"""Of the loop around everything."""


def map_program(seed: int) -> Program:
    """Return a program whose element computes value by value, with words from and to the border.

    Its buffers have the names of their types. Raises ProgramError where it is not legal.
    """
    rng = random.Random(seed)
    b = ProgramBuilder("maps", 1, 1)
    code = b.code("only")
    dtypes = rng.sample(("f32", "f16", "i32", "i16", "u32", "u16"), k=2)
    for dtype in dtypes:
        code.buffer(dtype, dtype, VALUES)
    for color, queue in (("into", 2), ("out", 3)):
        b.color(color)
        (code.input_queue if color == "into" else code.output_queue)(queue, color)
    task = code.task("main", entry=True)
    words = [0, 0]
    with task.loop("turn", TURNS) as turn:
        for number in range(rng.choice((1, 2, 3))):
            dtype = rng.choice(dtypes)
            if rng.random() < 0.4:
                scalar_instruction(rng, task, dtype, [rng.choice(("k", "p", "turn"))], turn)
            streams = random_map(rng, code, task, f"{dtype} {number}", turn)
            words = [
                all_words + TURNS * more for all_words, more in zip(words, streams, strict=True)
            ]
    b.place("only", Area(0, 0))
    if words[0]:
        b.route("into", Area(0, 0), rx="W", tx="R")
        b.edge_input(EdgeInput("xs", "W", 0, 1, "into", "u32", words[0]))
    if words[1]:
        b.route("out", Area(0, 0), rx="R", tx="E")
        b.edge_output(EdgeOutput("ys", "E", 0, 1, "out", "u32", words[1]))
    return b.build()


def random_map(
    rng: random.Random, code: CodeBuilder, task: TaskBuilder, name: str, turn: Index
) -> tuple[int, int]:
    """Append a map; return the words that it takes from the west and sends to the east."""
    dtype = name.split(maxsplit=1)[0]
    length = rng.choice((1, 3, 6))
    inputs = [f"x{n}" for n in range(rng.choice((1, 2, 3, 5)))]
    takes = dtype.endswith("32") and rng.random() < 0.3
    gives = dtype.endswith("32") and rng.random() < 0.3
    operands = [vector(rng, code, f"{name} {x}", length, turn) for x in inputs]
    if takes:
        operands[0] = code.fabin(f"{name} in", 2, length)
    output = (
        code.fabout(f"{name} out", 3, length)
        if gives
        else vector(rng, code, f"{name} out", length, turn)
    )
    known = [*inputs, "k", "p"]
    with task.map(*zip(inputs, operands, strict=True), output=("p", output)):
        for _ in range(rng.choice((1, 3, 6))):
            scalar_instruction(rng, task, dtype, known, turn)
        task.compute("p", rng.choice(BINARY), rng.choice(known), rng.choice(known), dtype=dtype)
    return takes * length, gives * length


def vector(rng: random.Random, code: CodeBuilder, name: str, length: int, turn: Index) -> Ref:
    """Declare a vector of at least `length` values, of one dimension or more, that turns move."""
    dtype = name.split(maxsplit=1)[0]
    longer = length + rng.choice((0, 0, 1, 4))
    kind = rng.random()
    if kind < 0.4 and longer % 2 == 0:
        loops = [(longer // 2, rng.choice((1, 2))), (2, rng.choice((1, 3)))]
        return code.mem4d(name, dtype, loops=loops).at(turn * rng.choice((0, 1)))
    ref = code.mem1d(name, dtype, extent=longer, stride=rng.choice((0, 1, 1, 2)))
    return ref.at(turn * rng.choice((0, 1, 2)))


def scalar_instruction(
    rng: random.Random, task: TaskBuilder, dtype: str, known: list[str], turn: Index
) -> None:
    """Append a scalar instruction that reads counters, numbers and values in memory."""
    operation = rng.choice((*BINARY, *(OF_FLOATS if dtype.startswith("f") else OF_INTEGERS)))

    def source() -> str | int | Element:
        kind = rng.random()
        if kind < 0.2:
            return rng.choice((0, 1, 2, 7))
        if kind < 0.35:
            return Element(dtype, turn * rng.choice((0, 2)) + rng.randrange(8))
        return rng.choice(known)

    sources = [source() for _ in range(1 if operation in UNARY else 2)]
    dest: str | Element = rng.choice(("k", "p", "q"))
    if rng.random() < 0.1:
        dest = Element(dtype, turn + 9)
    task.compute(dest, operation, *sources, dtype=dtype)
    if dest == "q":
        known.append("q")
