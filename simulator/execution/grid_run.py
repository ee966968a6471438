"""Run a program of a large grid for its values alone, where its cycles follow from its pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from tilewright.simulator.execution.drawn_operands import AnyArray
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.values.grid_values import grid_values
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.tile_values import resident_tiles, stream_inputs
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.pattern_cycles import pattern_cycles
from tilewright.simulator.run.gathered_tiles import GatheredTiles
from tilewright.simulator.run.trace import Counts


class GridRunResult(NamedTuple):
    """What a run for values alone gave.

    `cycles`: of the run; `memory`: (rows, columns, 1, values) by resident tensor; `edges`: words
    that left, by port; `counts`: number of actions.
    """

    cycles: int
    memory: Mapping[str, AnyArray]
    edges: Mapping[str, AnyArray]
    counts: Counts


class _Memories(Mapping[str, AnyArray]):
    """Memories of all elements by tensor, (rows, columns, 1, values), each made when asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], AnyArray]]) -> None:
        self._makers = {name: cache(maker) for name, maker in makers.items()}

    def __getitem__(self, name: str) -> AnyArray:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class RunRequest(NamedTuple):
    """What is to run: the program of a plan on the machine of a profile.

    `operands`: whole input tensors by name. `held`: what the elements hold from earlier Einsums,
    (rows, columns, 1, values) by tensor.
    """

    plan: Plan
    program: Program
    profile: Profile
    operands: Mapping[str, AnyArray]
    held: Mapping[str, AnyArray]


def run_by_pattern(request: RunRequest, cycles: int | None = None) -> GridRunResult | None:
    """Run a program for values alone; None if the pattern does not prove its cycles.

    `cycles`: of the run, if they are known already, by the pattern or from a run without values.
    None, too, for what only the engines compute. Raises ProgramError.
    """
    plan, program, profile, operands, held = request
    if cycles is None:
        cycles = pattern_cycles(program, profile).cycles
    if cycles is None:
        return None
    tiles = resident_tiles(plan, operands) | {n: _held_tiles(v) for n, v in held.items()}
    output = plan.read.output
    keep = [output.name] if output.resident else []
    try:
        values = grid_values(program, profile, tiles, stream_inputs(plan, operands), keep)
    except NotCovered:
        return None
    shape = plan.read.rows, plan.read.columns, 1, -1

    def maker(name: str) -> Callable[[], AnyArray]:
        if name in values.memory:
            return lambda: values.memory[name]
        return lambda: tiles[name].values().reshape(shape)

    resident = [tensor.name for tensor in plan.read.tensors if tensor.resident]
    memory = _Memories({name: maker(name) for name in resident})
    return GridRunResult(cycles, memory, values.edges, values.counts)


def _held_tiles(values: AnyArray) -> GatheredTiles:
    """Return the values that the elements hold of a tensor as places in the array of them all."""
    flat = np.ascontiguousarray(values).reshape(values.shape[0] * values.shape[1], -1)
    first = flat.shape[1] * np.arange(flat.shape[0], dtype=np.int64)
    places = np.arange(flat.shape[1], dtype=np.int64)
    return GatheredTiles(flat, first, places, flat[:0])
