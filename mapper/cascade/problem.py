"""What is searched: a workload whose Einsums may share loops, and what is minimized."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.mapper.cascade.boundary import Boundaries
from tilewright.mapper.cascade.lone import LoneTable
from tilewright.mapper.cascade.maker import Run
from tilewright.mapper.searches.metrics import Objective

Pair = tuple[float, float]  # energy, latency
Value = Callable[[Any, Any], Any]  # objective of energy and latency: two numbers, or two arrays
VALUES: dict[Objective, Value] = {
    "energy": lambda energy, latency: energy,  # noqa: ARG005
    "latency": lambda energy, latency: latency,  # noqa: ARG005
    "edp": lambda energy, latency: energy * latency,
}
Solo = LoneTable | tuple[Run, ...]  # a copy, or an Einsum on the way to each of its computes


@dataclass(frozen=True, slots=True)
class Tie:
    """What a search that breaks ties looks at: mappings that cost no more than `most`, of less than
    a known `value`. `choices`: of tensors on chip, by name, with bounds of what they cost."""

    value: float
    most: Pair
    choices: Mapping[tuple[str, int, int], Pair]


@dataclass(frozen=True, slots=True)
class Cascade:
    """The workload to search: its Einsums in order, and the `capacity` of the second memory.

    `objective`: the name of what `value` computes; `tie`: only ties are left to be broken;
    `repeats`: how many shared loops a rank variable may have.
    """

    boundaries: Boundaries
    einsums: tuple[Solo, ...]
    capacity: float
    objective: str
    value: Value
    tie: Tie | None = None
    repeats: int = 1
