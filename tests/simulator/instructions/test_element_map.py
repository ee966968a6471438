"""`@map` with any number of inputs, and with a pointer as its output."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Register
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.show.inspection import inspect_program
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

N = 6
KINDS = ("vector", "grid", "ring", "register", "stream")


def summing(kinds: list[str], lengths: list[int], words: int = N) -> Program:
    """Add up one value of every input, weighted by its place, element by element."""
    b = ProgramBuilder("summing", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("v", "i16", (len(kinds) + 1, N))
    code.buffer("sum", "i16", N)
    code.mem1d("out", "sum", N)
    code.input_queue(2, "x")
    main = code.task("main", entry=True)
    inputs: list[tuple[str, str | Register]] = []
    for number, (kind, length) in enumerate(zip(kinds, lengths, strict=True)):
        name, offset = f"in{number}", number * N
        if kind == "stream":
            code.fabin(name, 2, length)
        elif kind == "grid":
            code.mem4d(name, "v", [(length, 1)], offset)
        elif kind == "ring":
            code.buffer(f"ring{number}", "i16", 4)
            code.circbuf(name, f"ring{number}", length, 3)
        else:
            code.mem1d(name, "v", length, offset=offset)
        if kind == "register":
            code.load(Register("src1", number + 1), name, single_step=True)
        taken = Register("src1", number + 1) if kind == "register" else name
        inputs.append((f"x{number}", taken))
    with main.map(*inputs, output=("total", "out")):
        main.compute("total", "mov", 1, dtype="i16")
        for number in range(len(kinds)):
            main.compute("term", "mul", f"x{number}", number + 1, dtype="i16")
            main.compute("total", "add", "total", "term", dtype="i16")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R")
    if "stream" in kinds:
        b.edge_input(EdgeInput("x", "N", 0, 1, "x", "i16", words, interval=5))
    program = b.build()
    assert parse_program(print_program(program)) == program
    return program


def draw(seed: int) -> tuple[list[str], list[int]]:
    rng = np.random.default_rng(seed)
    kinds = [KINDS[int(k)] for k in rng.integers(0, len(KINDS) - 1, int(rng.integers(0, 8)))]
    if kinds and rng.integers(2):
        kinds[int(rng.integers(len(kinds)))] = "stream"
    return kinds, [int(n) for n in rng.integers(1, N + 1, len(kinds))]


@pytest.mark.random
@pytest.mark.parametrize("seed", range(25))
def test_sums_of_any_number_of_inputs(seed: int) -> None:
    kinds, lengths = draw(seed)
    rng = np.random.default_rng(seed)
    done = min([N, *lengths])
    # the map stops when it finds an operand at its end: those before it gave one more value
    ends = lengths.index(done) if done in lengths and done < N else len(kinds)
    streamed = kinds.index("stream") if "stream" in kinds else 0
    words = min(lengths[streamed], done + int(streamed < ends)) if "stream" in kinds else 1
    program = summing(kinds, lengths, words)
    v = rng.integers(-50, 50, (1, 1, len(kinds) + 1, N)).astype(np.int16)
    memory = {"v": v}
    stream = rng.integers(-50, 50, (1, words)).astype(np.int16)
    values = v[0, 0, : len(kinds)].copy()
    for number, kind in enumerate(kinds):
        if kind == "ring":
            memory[f"ring{number}"] = rng.integers(-50, 50, (1, 1, 4)).astype(np.int16)
            values[number] = np.resize(memory[f"ring{number}"][0, 0, :3], N)
        elif kind == "stream":
            values[number] = np.resize(stream, N)
    edges = {"x": stream} if "stream" in kinds else {}
    expected = np.zeros(N, dtype=np.int64)
    weights = np.arange(1, len(kinds) + 1)
    expected[:done] = 1 + (weights @ values.reshape(len(kinds), N)[:, :done])
    for shuffle in (0, 3):
        machine = Machine(program, load_profile("generic"))
        result = machine.run(memory=memory, edges=edges, shuffle=shuffle)
        assert result.memory["sum"].ravel().tolist() == expected.tolist()
    assert "task main" in str(inspect_program(program, load_profile("generic")))


def test_an_input_of_a_later_part_that_never_comes() -> None:
    kinds = ["vector", "vector", "vector", "stream"]
    program = summing(kinds, [N] * 4, words=2)
    with pytest.raises(DeadlockError) as caught:
        Machine(program, load_profile("generic")).run(edges={"x": np.ones((1, 2))})
    assert any("@map" in line and "input queue 2" in line for line in caught.value.waits)


def test_costs_grow_by_the_loads_of_further_inputs_only() -> None:
    """Every step costs the same; two more inputs are two more descriptors to load."""
    profile = load_profile("wse3-sdk-sim")
    cycles = []
    for inputs in (2, 4, 6):
        b = ProgramBuilder("cost", 1, 1)
        code = b.code("main")
        code.buffer("v", "i16", 8)
        code.mem1d("all", "v", 8)
        main = code.task("main", entry=True)
        with main.map(*((f"x{i}", "all") for i in range(inputs)), output=("x0", "all")):
            pass
        b.place("main", Area(0, 0))
        cycles.append(Machine(b.build(), profile).run().cycles)
    assert cycles[2] - cycles[1] == cycles[1] - cycles[0] <= profile.descriptor_use_cycles + 2


def test_a_pointer_as_output_holds_the_last_value() -> None:
    b = ProgramBuilder("pointer", 1, 1)
    code = b.code("main")
    code.buffer("v", "i16", N)
    code.buffer("sum", "i16", 2)
    code.mem1d("all", "v", N)
    main = code.task("main", entry=True)
    with main.map(("x", "all"), output=("total", code.element("sum", 1))):
        main.compute("total", "add", "total", "x", dtype="i16")
    b.place("main", Area(0, 0))
    v = np.arange(N, dtype=np.int16)
    result = Machine(b.build(), load_profile("wse2-sdk-sim")).run(memory={"v": v[None, None]})
    assert result.memory["sum"].ravel().tolist() == [0, v.sum()]
    assert result.counts.memory_writes == {"sum": N}


def test_refused() -> None:
    with pytest.raises(ProgramError, match="at most 16 inputs"):
        summing(["vector"] * 17, [N] * 17)
    b = ProgramBuilder("none", 1, 1)
    code = b.code("main")
    code.buffer("sum", "i16", 1)
    main = code.task("main", entry=True)
    with main.map(output=("x", code.element("sum"))):
        pass
    b.place("main", Area(0, 0))
    with pytest.raises(ProgramError, match="needs a descriptor or register"):
        b.build()
    twice = summing(["stream", "vector", "stream"], [N] * 3)
    with pytest.raises(MachineError, match="input queue 2 is in use by code m"):
        Machine(twice, load_profile("generic")).run(edges={"x": np.ones((1, N))})


def with_body(lines: str, dtype: str = "f32", values: str = "f32") -> Program:
    """Return an element that maps over `x`, 4 values, with a body; `a` has 12 values, `y` 3."""
    body = "".join(f"      {line}\n" for line in lines.split("; "))
    return parse_program(
        f"program body 1 x 1\ncolor c 0\ncode m\n  buffer y {dtype} [3]\n  buffer a {dtype} [12]\n"
        f"  buffer x {values} [4]\n  buffer z {dtype} [4]\n  mem1d y_all y extent 3\n"
        "  mem1d part a extent 3\n  mem1d x_all x extent 4\n  mem1d z_all z extent 4\n"
        "  fabin in queue 2 extent 3\n  input_queue 2 c\n  task main entry\n"
        "    load %dsr_src1 1 part save_address\n"
        f"    map v from x_all to z_all as w\n{body}place m [0:1, 0:1]\n"
        "route c [0:1, 0:1] rx N tx R\n"
    )


@pytest.mark.row("002.30")
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_operations_in_the_body_walk_on_by_their_registers(dtype: str) -> None:
    """The body multiplies a part of `a` by the value; its register goes on from call to call."""
    letter = {"f32": "s", "f16": "h"}[dtype]
    lines = f"@fmac{letter} y_all, y_all, %dsr_src1 1, =v; w = mul.{dtype} v, v"
    program = with_body(lines, dtype, dtype)
    assert parse_program(print_program(program)) == program
    kind = {"f32": np.float32, "f16": np.float16}[dtype]
    a, x = np.arange(12, dtype=kind).reshape(4, 3), np.array([3, 1, 0, 2], dtype=kind)
    for shuffle in (0, 5):
        result = Machine(program, load_profile("wse3-sdk-sim")).run(
            memory={"a": a.reshape(1, 1, 12), "x": x[None, None]}, shuffle=shuffle, timeline=True
        )
        assert (result.memory["y"][0, 0] == x @ a).all()
        assert (result.memory["z"][0, 0] == x * x).all()
    assert result.counts.macs == 12
    entries = [entry for entry in result.trace.timeline if entry.operation != "task"]
    assert {entry.thread for entry in entries} == {"main"}
    (outer,) = (entry for entry in entries if entry.operation == "map")
    inner = [entry for entry in entries if entry.operation != "map"]
    assert len(inner) == 4
    assert all(outer.start < entry.start < outer.end for entry in inner)


@pytest.mark.row("002.30")
def test_a_body_that_receives() -> None:
    program = with_body("@fadds y_all, y_all, in")
    words = np.arange(12, dtype=np.float32)
    program = replace(
        program, edge_inputs=(EdgeInput("e", "N", 0, 1, program.colors[0].name, "f32", 12),)
    )
    result = Machine(program, load_profile("wse3-sdk-sim")).run(edges={"e": words[None]})
    assert (result.memory["y"][0, 0] == words.reshape(4, 3).sum(axis=0)).all()
    short = replace(
        program, edge_inputs=(EdgeInput("e", "N", 0, 1, program.colors[0].name, "f32", 11),)
    )
    with pytest.raises(DeadlockError) as caught:
        Machine(short, load_profile("wse3-sdk-sim")).run(edges={"e": words[None, :11]})
    assert any("@fadds" in line and "input queue 2" in line for line in caught.value.waits)


def test_refused_bodies() -> None:
    wse3 = load_profile("wse3-sdk-sim")
    with pytest.raises(ProgramError, match="an operation in the body is asynchronous"):
        Machine(with_body("@fmovs y_all, in async"), wse3)
    with pytest.raises(ProgramError, match="@fmacs: argument v is no f32"):
        Machine(with_body("@fmacs y_all, y_all, part, =v", values="f16"), wse3)
    with pytest.raises(ProgramError, match="scalar instructions and operations on descriptors"):
        Machine(with_body("activate main"), wse3)


def test_registers_of_a_body_are_beside_those_of_its_map() -> None:
    needs = inspect_program(
        with_body("@fadds y_all, y_all, part"), load_profile("wse3-sdk-sim")
    ).codes[0]
    plain = inspect_program(with_body("w = mul.f32 v, v"), load_profile("wse3-sdk-sim")).codes[0]
    needed, without = (
        {need.kind: need.operations for need in code.registers} for code in (needs, plain)
    )
    assert needed["src1"] == without["src1"] + 1
    assert needed["dest"] == without["dest"] + 1
