"""Corrupted programs end in a result or in an error of ours, never otherwise."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from changing_programs import changing_case
from explore import enough
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_programs import Case, random_case
from special_programs import special_case

from tilewright.arch.errors import TilewrightError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

NUMBERS = (-(1 << 40), -129, -1, 0, 1, 2, 3, 7, 8, 15, 127, 128, 32767, 65536, 1 << 33)
WORDS = ("x", "in", "out", "all", "main", "even", "c0", "fadds", "f16", "i16", "N", "R", "nobody")


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all numbers, names and items of a program."""
    if isinstance(node, np.ndarray):
        return []
    if dataclasses.is_dataclass(node):
        inner: list[Any] = [(f.name, getattr(node, f.name)) for f in dataclasses.fields(node)]
    elif isinstance(node, tuple):
        inner = list(enumerate(node))
    else:
        return [path] if isinstance(node, int | str) else []
    pair = len(path) > 1 and path[-2] == "terms"
    found = [path] if isinstance(node, tuple) and node and not pair else []
    for key, value in inner:
        found += places(value, (*path, key))
    return found


def changed(node: Any, path: tuple[Any, ...], rng: np.random.Generator) -> Any:
    """Return the program with one place changed."""
    if path:
        if isinstance(node, tuple):
            item = changed(node[path[0]], path[1:], rng)
            return (*node[: path[0]], item, *node[path[0] + 1 :])
        item = changed(getattr(node, path[0]), path[1:], rng)
        return dataclasses.replace(node, **{path[0]: item})
    if isinstance(node, tuple):
        which = int(rng.integers(len(node)))
        return (*node[:which], *node[which + 1 :], *([node[which]] * int(rng.integers(0, 3))))
    if isinstance(node, bool):
        return not node
    if isinstance(node, int):
        return int(rng.choice(np.array(NUMBERS, dtype=object)))
    return str(rng.choice(WORDS))


def mutated(seed: int) -> Case:
    """Return a random program with one to three changes."""
    rng = np.random.default_rng(seed)
    draw = (special_case, random_case, changing_case)[int(rng.integers(3))]
    case = draw(int(rng.integers(1 << 30)))
    program = case.program
    for _ in range(int(rng.integers(1, 4))):
        paths = places(program)
        program = changed(program, paths[int(rng.integers(len(paths)))], rng)
    return dataclasses.replace(case, program=program)


def outcome(case: Case) -> str:
    """Run a program where it should run: color swaps exist on WSE-2, flushes on WSE-3."""
    swaps = any(route.swap for route in case.program.routes if hasattr(route, "swap"))
    try:
        machine = Machine(case.program, load_profile("generic" if swaps else "wse3-sdk-sim"))
        machine.run(memory=case.memory, edges=case.edges, max_cycles=20_000)
    except TilewrightError as error:
        return str(error)
    return "result"


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_result_or_named_error(seed: int) -> None:
    assert outcome(mutated(seed))


def test_mutations_reach_many_errors() -> None:
    found = {outcome(mutated(seed)).splitlines()[0][-30:] for seed in range(60)}
    assert len(found) > 10


@pytest.mark.nightly
def test_a_thousand_mutations(shift: int) -> None:
    seeds = range(shift, shift + 1000)
    found = {outcome(mutated(seed)).splitlines()[0][-30:] for seed in seeds}
    assert enough(len(found), 61)
