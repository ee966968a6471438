"""One element that runs the text of a code on both engines, which must agree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

ARRIVE = "route x [0:1, 0:1] rx W tx R\nedge_input xs side W [0:1] color x u32 count {count}\n"
LEAVE = "route y [0:1, 0:1] rx R tx E\nedge_output ys side E [0:1] color y u32 count {sent}\n"


def program_text(body: str, *, arriving: int = 0, sent: int = 0) -> str:
    """Return a program of one element; words arrive on color x, and are sent on color y."""
    text = "program p 1 x 1\ncolor x\ncolor y\ncode main\n"
    text += "".join(f"  {line}\n" for line in body.strip("\n").splitlines())
    text += "place main [0:1, 0:1]\n"
    text += ARRIVE.format(count=arriving) if arriving else ""
    return text + (LEAVE.format(sent=sent) if sent else "")


def run_text(
    text: str,
    *,
    profile: str = "wse3-sdk-sim",
    edges: Mapping[str, npt.ArrayLike] | None = None,
    memory: Mapping[str, npt.ArrayLike] | None = None,
    timeline: bool = False,
) -> RunResult:
    """Run a program on both engines and compare them; `memory` is that of element (0, 0)."""
    program = parse_program(text)
    assert parse_program(print_program(program)) == program
    held = {name: {(0, 0): value} for name, value in (memory or {}).items()}
    chosen = load_profile(profile)
    first = Machine(program, chosen).run(memory=held, edges=edges, timeline=timeline)
    second = FastMachine(program, chosen).run(memory=held, edges=edges).result
    assert second.cycles == first.cycles
    assert all((second.memory[name] == first.memory[name]).all() for name in first.memory)
    return first


def run(
    body: str,
    *,
    profile: str = "wse3-sdk-sim",
    xs: npt.ArrayLike = (),
    sent: int = 0,
    **memory: npt.ArrayLike,
) -> RunResult:
    """Run the body of a code on one element; `xs` are the words that arrive."""
    words = np.atleast_2d(np.asarray(xs, dtype=np.uint32))
    text = program_text(body, arriving=words.size, sent=sent)
    edges = {"xs": words} if words.size else None
    return run_text(text, profile=profile, edges=edges, memory=memory)


def values(result: RunResult, name: str) -> list[float]:
    """Return the values of a buffer of element (0, 0), in row-major order."""
    return result.memory[name][0, 0].ravel().tolist()


def words_sent(result: RunResult) -> list[int]:
    """Return the words that left on color y."""
    return result.edges["ys"].values[0].tolist()


def fails(text: str, problem: str, profile: str = "wse3-sdk-sim") -> None:
    """Check that both engines stop at a whole program with the same words."""
    chosen = load_profile(profile)
    with pytest.raises(TilewrightError) as first:
        Machine(parse_program(text), chosen).run()
    assert problem in str(first.value)
    with pytest.raises(TilewrightError) as second:
        FastMachine(parse_program(text), chosen).run()
    assert str(second.value) == str(first.value)


def _run_fast(body: str, profile: str, words: npt.NDArray[np.uint32]) -> None:
    program = parse_program(program_text(body, arriving=words.size))
    edges = {"xs": words} if words.size else None
    FastMachine(program, load_profile(profile)).run(edges=edges)


def refused(
    body: str, problem: str, *, profile: str = "wse3-sdk-sim", xs: npt.ArrayLike = ()
) -> None:
    """Check that both engines refuse a body, when it is compiled or run, with the same words."""
    with pytest.raises(TilewrightError) as first:
        run(body, profile=profile, xs=xs)
    assert problem in str(first.value)
    with pytest.raises(TilewrightError) as second:
        _run_fast(body, profile, np.atleast_2d(np.asarray(xs, dtype=np.uint32)))
    assert str(second.value) == str(first.value)
