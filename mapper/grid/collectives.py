"""Reductions of partial sums on a line or a grid of elements: phases, and counts in closed form.

A reduction is a list of phases; a phase is a set of chains along one axis. Each element of a chain
receives the running sum from its predecessor, adds its own partial sum and sends the result on. The
first receive of an element stays pending: its next send adds on the fly
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
    """Chains along `axis` that run at the same time, in each line of the grid along that axis.

    `line`: the one line whose elements take part; None for all lines.
    """

    axis: Axis
    chains: tuple[Chain, ...]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class CollectiveCounts:
    """Counts of the reduction of one word, over all elements of one reduction tree."""

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
    positions = tuple(range(elements))
    if scheme == "chain":
        return (Phase(axis, (Chain(positions),)),)
    size = max(1, isqrt(elements))
    groups = [positions[start : start + size] for start in range(0, elements, size)]
    group_chains = tuple(Chain(group) for group in groups if len(group) > 1)
    heads = Chain(tuple(group[-1] for group in groups))
    phases = [Phase(axis, group_chains)] if group_chains else []
    return (*phases, Phase(axis, (heads,))) if len(groups) > 1 else tuple(phases)


def grid_phases(columns: int, rows: int, scheme: Scheme) -> tuple[Phase, ...]:
    """Return the phases that reduce a grid: each row to its last element, then the last column."""
    row_phases = line_phases("X", columns, scheme)
    column_phases = tuple(
        Phase(phase.axis, phase.chains, line=columns - 1)
        for phase in line_phases("Y", rows, scheme)
    )
    return row_phases + column_phases


def count_line(elements: int, scheme: Scheme) -> CollectiveCounts:
    """Return the counts of one word through the reduction of one line, in closed form.

    Every partial sum is read once when it is sent. A receive is written to memory only if another
    one is pending, which occurs (leaves - 1) times in a tree.
    """
    phases = line_phases("X", elements, scheme)
    hops = sum(chain.hops for phase in phases for chain in phase.chains)
    second_receives = _leaves(phases, elements) - 1
    reads = elements + second_receives
    return CollectiveCounts(hops, reads, second_receives, elements - 1)


def count_grid(columns: int, rows: int, scheme: Scheme) -> CollectiveCounts:
    """Return the counts of one word through the reduction of a grid to its last element."""
    row, column = count_line(columns, scheme), count_line(rows, scheme)
    # An element at the end of a row sends its own partial sum once, in the column.
    leaves = rows * (row.memory_writes + 1) if columns > 1 else column.memory_writes + 1
    second_receives = leaves - 1
    return CollectiveCounts(
        hops=rows * row.hops + column.hops,
        memory_reads=columns * rows + second_receives,
        memory_writes=second_receives,
        additions=columns * rows - 1,
    )


def _leaves(phases: Sequence[Phase], elements: int) -> int:
    receivers = {
        receiver for phase in phases for chain in phase.chains for receiver in chain.positions[1:]
    }
    return elements - len(receivers)
