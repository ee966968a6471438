"""A circular buffer in a register that saves its address stays the same ring."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Register
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeOutput
from tilewright.simulator.run.machine import Machine

PROFILES = ("generic", "wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon")
DEST, SRC1 = Register("dest", 3), Register("src1", 3)


def single(dtype: str = "f32") -> tuple[ProgramBuilder, CodeBuilder, TaskBuilder]:
    """Return an element with a ring of 8, a vector of 32, and its main task."""
    b = ProgramBuilder("rings", 1, 1)
    code = b.code("main")
    code.buffer("ring", dtype, 8)
    code.buffer("v", dtype, 32)
    b.place("main", Area(0, 0))
    return b, code, code.task("main", entry=True)


def run(b: ProgramBuilder, profile: str = "wse3-sdk-sim", **memory: object) -> dict[str, list[int]]:
    given = {name: np.asarray(value)[None, None] for name, value in memory.items()}
    result = Machine(b.build(), load_profile(profile)).run(memory=given)
    return {name: value[0, 0].astype(int).tolist() for name, value in result.memory.items()}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("extent", "wraparound", "uses", "expected"),
    [
        (3, 4, 2, [5, 6, 3, 4, 0, 0, 0, 0]),
        (1, 4, 5, [5, 2, 3, 4, 0, 0, 0, 0]),
        (6, 4, 1, [5, 6, 3, 4, 0, 0, 0, 0]),
        (4, None, 3, [9, 10, 11, 12, 5, 6, 7, 8]),
        (8, None, 2, [9, 10, 11, 12, 13, 14, 15, 16]),
        (12, None, 2, [17, 18, 19, 20, 21, 22, 23, 24]),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "i16"])
def test_uses_go_around_the_ring(
    profile: str, dtype: str, extent: int, wraparound: int | None, uses: int, expected: list[int]
) -> None:
    b, code, main = single(dtype)
    code.circbuf("c", "ring", extent, wraparound)
    code.mem1d("some", "v", extent)
    code.load(DEST, "c", xdsr=0, save_address=True)
    code.load(SRC1, "some", save_address=True)
    with main.loop("i", uses):
        main.op("fmovs" if dtype == "f32" else "mov16", DEST, SRC1)
    assert run(b, profile, v=np.arange(1, 33))["ring"] == expected


def test_a_new_load_starts_at_the_base_again() -> None:
    b, code, main = single()
    code.circbuf("c", "ring", 3, 4)
    code.mem1d("some", "v", 3)
    code.load(SRC1, "some", save_address=True)
    for _ in range(2):
        main.load(DEST, "c", xdsr=0, save_address=True)
        main.op("fmovs", DEST, SRC1)
    assert run(b, v=np.arange(1, 33))["ring"][:4] == [4, 5, 6, 0]


def test_a_plain_vector_in_the_register_afterwards_ends_the_ring() -> None:
    b, code, main = single()
    code.circbuf("c", "ring", 3, 4)
    code.mem1d("plain", "ring", 3, offset=5)
    code.mem1d("some", "v", 3)
    code.load(SRC1, "some", save_address=True)
    for name, xdsr in (("c", 0), ("plain", None)):
        main.load(DEST, name, xdsr=xdsr, save_address=True)
        main.op("fmovs", DEST, SRC1)
    assert run(b, v=np.arange(1, 33))["ring"] == [1, 2, 3, 0, 0, 4, 5, 6]


def test_a_map_goes_around_the_ring() -> None:
    """Single steps: six elements of a ring of four."""
    b, code, main = single("i16")
    code.circbuf("c", "ring", 6, 4)
    code.mem1d("into", "v", 6)
    code.load(SRC1, "c", xdsr=0, single_step=True)
    code.load(DEST, "into", single_step=True)
    with main.map(("x", SRC1), output=("y", DEST)):
        main.compute("y", "add", "x", 10, dtype="i16")
    assert run(b, ring=np.arange(8))["v"][:6] == [10, 11, 12, 13, 10, 11]


def test_a_ring_that_is_sent_and_zeroed() -> None:
    """What is zeroed is what was sent: from where the use before ended, around the end."""
    b, code, main = single()
    b.color("y")
    code.circbuf("c", "ring", 3, 4)
    code.load(SRC1, "c", xdsr=0, save_address=True)
    code.output_queue(3, "y")
    code.fabout("plain", 3, 3)
    code.fabout("zeroing", 3, 3, zero="second")
    main.op("fmovs", "plain", SRC1)
    main.op("fmovs", "zeroing", SRC1)
    b.route("y", Area(0, 0), rx="R", tx="E")
    b.edge_output(EdgeOutput("y", "E", 0, 1, "y", "f32", 6))
    ring = np.arange(1, 9, dtype=np.float32)[None, None]
    result = Machine(b.build(), load_profile("wse3-sdk-sim")).run(memory={"ring": ring})
    assert result.edges["y"].values.tolist() == [[1, 2, 3, 4, 1, 2]]
    assert result.memory["ring"][0, 0].tolist() == [0, 0, 3, 0, 5, 6, 7, 8]
