"""How partial sums meet on a line or a grid of elements: the phases, and what they cost in counts.

A reduction is a list of phases; a phase is a set of chains along one axis. Each element of a chain
receives the running sum from its predecessor, adds its own partial sum and passes it on. An
element that only received so far keeps the receive pending: its next send adds on the fly
(`@fadds(fabout, memory, fabin)`), so that only a second receive costs a write to memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Literal

Axis = Literal["X", "Y"]
Scheme = Literal["chain", "two_phase"]
SCHEMES: tuple[Scheme, ...] = ("chain", "two_phase")


@dataclass(frozen=True, slots=True)
class Chain:
    """Positions along an axis that pass a running sum from the first to the last."""

    positions: tuple[int, ...]

    @property
    def hops(self) -> int:
        return self.positions[-1] - self.positions[0]


@dataclass(frozen=True, slots=True)
class Phase:
    """Chains along `axis` that run side by side, in every line of the other axis given by `lines`.

    `lines` is None for all lines, else the one line whose elements take part.
    """

    axis: Axis
    chains: tuple[Chain, ...]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class CollectiveCounts:
    """What reducing one word costs: totals over one reduction tree."""

    hops: int
    memory_reads: int
    memory_writes: int
    additions: int


def line_phases(axis: Axis, elements: int, scheme: Scheme) -> tuple[Phase, ...]:
    """Return the phases that reduce a line of `elements` to its last one.

    two_phase: chains inside groups of about sqrt(elements), then a chain over the last element of
    each group (wafer.md §7.1).
    """
    if elements == 1:
        return ()
    everyone = tuple(range(elements))
    if scheme == "chain":
        return (Phase(axis, (Chain(everyone),)),)
    size = max(1, isqrt(elements))
    groups = [everyone[start : start + size] for start in range(0, elements, size)]
    inside = tuple(Chain(group) for group in groups if len(group) > 1)
    heads = Chain(tuple(group[-1] for group in groups))
    phases = [Phase(axis, inside)] if inside else []
    return (*phases, Phase(axis, (heads,))) if len(groups) > 1 else tuple(phases)


def grid_phases(columns: int, rows: int, scheme: Scheme) -> tuple[Phase, ...]:
    """Reduce a whole grid: every row to its last element, then the last column downwards."""
    across = line_phases("X", columns, scheme)
    down = tuple(
        Phase(phase.axis, phase.chains, line=columns - 1)
        for phase in line_phases("Y", rows, scheme)
    )
    return across + down


def count_line(elements: int, scheme: Scheme) -> CollectiveCounts:
    """Count one word through the reduction of one line, in closed form.

    Every partial sum is read once when it is sent; a receive is written back only where the
    element already has one pending, which happens (leaves - 1) times in a tree.
    """
    phases = line_phases("X", elements, scheme)
    hops = sum(chain.hops for phase in phases for chain in phase.chains)
    extra = _leaves(phases, elements) - 1
    return CollectiveCounts(hops, elements + extra, extra, elements - 1)


def count_grid(columns: int, rows: int, scheme: Scheme) -> CollectiveCounts:
    """Count one word through the reduction of a whole grid to its last element."""
    across, down = count_line(columns, scheme), count_line(rows, scheme)
    # An element at the end of a row sends its own partial sum once, in the column.
    leaves = rows * (across.memory_writes + 1) if columns > 1 else down.memory_writes + 1
    extra = leaves - 1
    return CollectiveCounts(
        hops=rows * across.hops + down.hops,
        memory_reads=columns * rows + extra,
        memory_writes=extra,
        additions=columns * rows - 1,
    )


def _leaves(phases: Sequence[Phase], elements: int) -> int:
    receivers = {
        after for phase in phases for chain in phase.chains for after in chain.positions[1:]
    }
    return elements - len(receivers)
