"""Operations in mode simd_32 on pairs of values: the cycles of the general path, in all engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.resolving import resolve
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.code_parts import all_operations
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult

PROFILES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon")
OPERATIONS = {
    ("f16", "add"): "faddh",
    ("f16", "max"): "fmaxh",
    ("f16", "move"): "fmovh",
    ("i16", "add"): "add16",
    ("i16", "move"): "mov16",
}


def chain(values: int, dtype: str, join: str, *, odd: bool = False) -> Program:
    """Three elements: the first one sends its values, each other one joins its own and sends on.

    odd: vectors begin at odd addresses, so that no two values lie in one word of 32 bits.
    """
    b = ProgramBuilder("chain", 1, 3)
    colors = b.color("x"), b.color("y")
    move = OPERATIONS[dtype, "move"]
    for column, name in enumerate(("first", "middle", "last")):
        code = b.code(name)
        code.buffer("v", dtype, values + odd)
        code.mem1d("all", "v", values, offset=int(odd))
        code.output_queue(3, colors[column % 2])
        code.fabout("out", 3, values, simd="simd_32")
        main = code.task("main", entry=True)
        if column:
            code.input_queue(2, colors[1 - column % 2])
            code.fabin("in", 2, values, simd="simd_32")
            main.op(OPERATIONS[dtype, join], "out", "all", "in", label="join")
        else:
            main.op(move, "out", "all")
        b.place(name, Area(0, column))
    for column in range(3):
        b.route(colors[column % 2], Area(0, column), rx="R", tx="E")
    for column in range(2):
        b.route(colors[column % 2], Area(0, column + 1), rx="W", tx="R")
    b.edge_output(EdgeOutput("sums", "E", 0, 1, colors[0], "u32", values // 2))
    return b.build()


def chain_run(machine: Any, values: int, dtype: str, *, odd: bool = False) -> RunResult:
    numbers = np.random.default_rng(values).integers(-90, 90, (1, 3, values + odd))
    numbers = (numbers / 8).astype(np.float16) if dtype == "f16" else 321 * numbers.astype(np.int16)
    if odd:
        numbers[:, :, 1:] = chain_values(values, dtype)
    result = machine.run(memory={"v": numbers})
    return getattr(result, "result", result)


def chain_values(values: int, dtype: str) -> Any:
    numbers = np.random.default_rng(values).integers(-90, 90, (1, 3, values))
    return (numbers / 8).astype(np.float16) if dtype == "f16" else 321 * numbers.astype(np.int16)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", [k for k in OPERATIONS if k[1] != "move"])
@pytest.mark.parametrize("values", [2, 16, 50])
def test_pairs_take_the_cycles_of_the_general_path(
    profile: str, kind: tuple[str, str], values: int
) -> None:
    dtype, join = kind
    machine = load_profile(profile)
    program = chain(values, dtype, join)
    packed = chain_run(Machine(program, machine), values, dtype)
    general = chain_run(
        Machine(chain(values, dtype, join, odd=True), machine), values, dtype, odd=True
    )
    runs = [packed, general]
    if profile != "wse3-silicon":  # whose words take no whole number of cycles
        fast = FastMachine(program, machine)
        assert fast.certificate.granted
        runs.append(chain_run(fast, values, dtype))
    ours = chain_values(values, dtype)
    wanted = ours.max(axis=1) if join == "max" else (ours[:, 2] + (ours[:, 1] + ours[:, 0]))
    for run in runs:
        assert run.cycles == packed.cycles
        sums = np.asarray(run.edges["sums"].values)
        assert (sums.view(ours.dtype) == wanted).all()
        assert run.counts == packed.counts
        assert run.counts.labelled["join"] == 2 * values
        assert run.counts.memory_reads == {"v": 3 * values}
    assert Machine(program, machine).cycles() == packed.cycles


@pytest.mark.parametrize("profile", PROFILES)
def test_a_stream_over_the_border_is_stored_by_pairs(profile: str) -> None:
    values = 24
    b = ProgramBuilder("store", 1, 1)
    x = b.color("x")
    code = b.code("main")
    code.buffer("v", "f16", (2, values))
    code.mem1d("tile", "v", values)
    code.input_queue(2, x)
    code.fabin("in", 2, values, simd="simd_32")
    code.task("main", entry=True).op("fmovh", "tile", "in")
    b.place("main", Area(0, 0))
    b.route(x, Area(0, 0), rx="W", tx="R")
    b.edge_input(EdgeInput("edge", "W", 0, 1, x, "u32", values // 2))
    program, machine = b.build(), load_profile(profile)
    numbers = (np.arange(values) / 4).astype(np.float16)
    words = {"edge": numbers.view(np.uint32).reshape(1, -1)}
    runs = [Machine(program, machine).run(edges=words)]
    if profile != "wse3-silicon":
        runs.append(FastMachine(program, machine).run(edges=words).result)
    assert len({run.cycles for run in runs}) == 1
    for run in runs:
        assert (run.memory["v"][0, 0, 0] == numbers).all()
        assert run.counts.memory_writes == {"v": values}
        assert run.counts.edge_in_words == values // 2


def rows_program(first: int) -> Program:
    """Two elements: one sends rows of 6 values, 10 apart, from value `first` on; one keeps them."""
    b = ProgramBuilder("rows", 1, 2)
    x = b.color("x")
    for column, name in enumerate(("send", "keep")):
        code = b.code(name)
        code.buffer("v", "i16", (2, 3, 10))
        code.mem4d("rows", "v", [(2, 30), (3, 10), (6, 1)], offset=first)
        main = code.task("main", entry=True)
        if column:
            code.input_queue(2, x)
            main.op("mov16", "rows", code.fabin("in", 2, 36, simd="simd_32"))
        else:
            code.output_queue(3, x)
            main.op("mov16", code.fabout("out", 3, 36, simd="simd_32"), "rows")
        b.place(name, Area(0, column))
    b.route(x, Area(0, 0), rx="R", tx="E")
    b.route(x, Area(0, 1), rx="W", tx="R")
    return b.build()


@pytest.mark.parametrize("profile", PROFILES)
def test_rows_that_begin_at_even_addresses_go_by_pairs(profile: str) -> None:
    """From value 2 on rows lie in words of 32 bits, from value 3 on the general path takes them."""
    numbers = np.zeros((1, 2, 2, 3, 10), dtype=np.int16)
    numbers[0, 0] = np.arange(60).reshape(2, 3, 10) - 25
    cycles = set()
    for first in (2, 3):
        program = rows_program(first)
        (_, op), *_ = all_operations(program.codes[0])
        assert resolve(program.codes[0], "main", op).is_packed == (first == 2)
        run = Machine(program, load_profile(profile)).run(memory={"v": numbers})
        kept = np.asarray(run.memory["v"])[0, 1]
        assert (kept[:, :, first : first + 6] == numbers[0, 0, :, :, first : first + 6]).all()
        assert np.count_nonzero(kept) == np.count_nonzero(numbers[0, 0, :, :, first : first + 6])
        assert run.counts.memory_writes == {"v": 36}
        cycles.add(run.cycles)
    assert len(cycles) == 1
