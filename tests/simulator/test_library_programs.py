"""Programs on the collectives library: every kind of call from every root, GEMV and SUMMA."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from explore import at_night

from tilewright.simulator.examples.known_costs import chain_reduce, message, relay, two_phase_reduce
from tilewright.simulator.examples.library_programs import (
    Matrix,
    library_calls,
    library_gemv,
    library_summa,
)
from tilewright.simulator.examples.published_collectives import broadcast, star_reduce
from tilewright.simulator.examples.tree_reduce import tree_reduce
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult

WSE2, WSE3 = load_profile("wse2-sdk-sim"), load_profile("wse3-sdk-sim")
KINDS = ("broadcast", "scatter", "gather", "reduce")


def run(
    elements: int, words: int, calls: Sequence[tuple[str, int]], profile=WSE3, shuffle: int = 0
) -> RunResult:
    """Run the calls and check what every element got."""
    machine = Machine(library_calls(elements, words, calls), profile)
    mine = np.random.default_rng(1).integers(-9, 9, (1, elements, words * elements))
    mine = mine.astype(np.float32)
    result = machine.run(memory={"mine": mine}, shuffle=shuffle)
    for number, (kind, root) in enumerate(calls):
        got = result.memory["got"][0, :, number]
        assert (got == expected(mine[0], words, kind, root)).all(), (kind, root)
    return result


def expected(mine, words: int, kind: str, root: int):
    """Return what the elements receive: (elements, words * elements), 0 where nothing comes."""
    elements = len(mine)
    got = np.zeros_like(mine)
    if kind == "broadcast":
        got[:, :words] = mine[root, :words]
        got[root] = 0
    if kind == "scatter":
        got[:, :words] = mine[root].reshape(elements, words)
    if kind == "gather":
        got[root] = mine[:, :words].ravel()
    if kind == "reduce":
        got[root, :words] = mine[:, :words].sum(axis=0)
    return got


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("elements", [2, 3, *at_night(4)])
def test_every_root(kind: str, elements: int) -> None:
    roots = [(kind, root) for root in range(elements)]
    assert run(elements, 3, roots).cycles == run(elements, 3, roots, shuffle=3).cycles


@pytest.mark.parametrize("profile", [WSE2, *at_night(WSE3)])
def test_kinds_follow_each_other(profile) -> None:
    """What a call leaves in router and state does not reach the next one."""
    kinds = ("gather", "broadcast", "reduce", "scatter", "gather", "reduce")
    calls = list(zip(kinds, (1, 2, 0, 3, 0, 2), strict=True))
    run(4, 2, calls, profile)


def test_a_call_costs_its_tasks_and_a_cycle_per_word() -> None:
    short, long = (run(4, words, [("broadcast", 0)]).cycles for words in (4, 204))
    assert long - short == 200


@pytest.mark.parametrize("profile", [WSE2, WSE3])
@pytest.mark.parametrize("grid", [Matrix(2, 2), *at_night(Matrix(3, 4))])
def test_gemv(grid: Matrix, profile) -> None:
    tile = Matrix(5, 3)
    rng = np.random.default_rng(2)
    a = rng.integers(-9, 9, (grid.rows, grid.columns, *tile)).astype(np.float32)
    x, b = (rng.integers(-9, 9, n).astype(np.float32) for n in (12, 15))
    x, b = x[: grid.columns * tile.columns], b[: grid.rows * tile.rows]
    memory = {
        "tile": a.transpose(0, 1, 3, 2).reshape(*grid, -1), "x": {(0, 0): x}, "b": {(0, 0): b},
    }  # fmt: skip
    result = Machine(library_gemv(grid, tile), profile).run(memory=memory)
    full = a.transpose(0, 2, 1, 3).reshape(grid.rows * tile.rows, -1)
    assert (result.memory["y"][-1, -1] == full @ x + b).all()


@pytest.mark.parametrize("profile", [WSE2, WSE3])
def test_summa(profile) -> None:
    size, tile = 3, 2
    rng = np.random.default_rng(3)
    a, b = rng.integers(-9, 9, (2, size, size, tile, tile)).astype(np.float32)
    memory = {
        name: t.transpose(0, 1, 3, 2).reshape(size, size, -1) for name, t in (("A", a), ("B", b))
    }
    result = Machine(library_summa(size, tile), profile).run(memory=memory)
    full = [t.transpose(0, 2, 1, 3).reshape(size * tile, -1) for t in (a, b)]
    c = result.memory["C"].reshape(size, size, tile, tile).transpose(0, 3, 1, 2)
    assert (c.reshape(size * tile, -1) == full[0] @ full[1]).all()


def test_a_copy_by_registers_that_hold_streams_at_other_times() -> None:
    """The root of a scatter copies its part on the main thread; its cycles are accounted for."""
    result = Machine(library_calls(3, 8, [("scatter", 0)]), WSE3).run(timeline=True)
    threads = [e.thread for e in result.trace.timeline if e.operation == "fmovs" and not e.column]
    assert threads == ["main", "ut2"]
    assert sum(result.trace.cycles_by_reason().values()) == 3 * result.cycles


def test_wrong_calls_are_refused() -> None:
    for calls in ([], [("broadcast", 4)], [("transpose", 0)]):
        with pytest.raises(ProgramError, match=r"a line has|no call of"):
            library_calls(4, 4, calls)


@pytest.mark.parametrize(
    ("program", "sizes"),
    [
        (chain_reduce, (1, 4)),
        (two_phase_reduce, (8, 4, 3)),
        (two_phase_reduce, (8, 4, 8)),
        (star_reduce, (1, 4)),
        (tree_reduce, (6, 4)),
        (broadcast, (1, 1, 4)),
        (message, (4, 0)),
        (relay, (0, 4)),
        (library_gemv, (Matrix(1, 3), Matrix(4, 5))),
        (library_summa, (1, 5)),
    ],
)
def test_sizes_that_a_program_has_not(
    program: Callable[..., Program], sizes: tuple[object, ...]
) -> None:
    with pytest.raises(ProgramError) as caught:
        program(*sizes)
    assert caught.value.value == sizes
