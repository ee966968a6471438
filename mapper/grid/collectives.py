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
    """Elements of one line that pass a running sum from the first to the last.

    `positions`: indices of the elements along the line, rising. Each element receives the sum from
    the one before it in this list, adds its own partial sum and sends the result to the next one.
    """

    positions: tuple[int, ...]

    @property
    def hops(self) -> int:
        """Links between neighbouring elements that a word crosses from the first to the last."""
        return self.positions[-1] - self.positions[0]


@dataclass(frozen=True, slots=True)
class Phase:
    """Step of a reduction: chains along one axis that run at the same time.

    `axis`: "X", so that each row of the grid is a line, or "Y", so that each column is one.
    `chains`: the chains within a line. `line`: index of the one row or column that takes part;
    None: every line runs these chains.
    """

    axis: Axis
    chains: tuple[Chain, ...]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class CollectiveCounts:
    """Count what it takes to add one word of partial sums over all elements of a reduction.

    All four are totals over the elements (theory/wafer.md §7.2). `hops`: links crossed.
    `memory_reads`, `memory_writes`: words read from and written to the memories of the elements.
    `additions`: additions of the engines.
    """

    hops: int
    memory_reads: int
    memory_writes: int
    additions: int


def line_phases(axis: Axis, elements: int, scheme: Scheme) -> tuple[Phase, ...]:
    """Return the phases that add up one line of elements into its last element.

    `axis`: "X" or "Y", only noted in the phases. `elements`: length of the line. "chain": one chain
    over all elements. "two_phase": chains inside groups of isqrt(elements) neighbours, then one
    chain over the last element of each group (theory/wafer.md §7.1). A line of one element has no
    phases. Example: 16 elements in two phases are four chains (0, 1, 2, 3), … and then the chain
    (3, 7, 11, 15).
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
    """Return the phases that add up a whole grid into the last element of its last column.

    First each row is added into its last element, then the last column. `columns`, `rows`: size of
    the grid in elements. `scheme`: "chain" or "two_phase" for both.
    """
    row_phases = line_phases("X", columns, scheme)
    column_phases = tuple(
        Phase(phase.axis, phase.chains, line=columns - 1)
        for phase in line_phases("Y", rows, scheme)
    )
    return row_phases + column_phases


def count_line(elements: int, scheme: Scheme) -> CollectiveCounts:
    """Count the cost of adding one word over a line of `elements` elements, in closed form.

    With a leaf an element that receives nothing: every partial sum is read once when it is sent,
    and an element with several incoming sums writes all but one of them to its memory and reads
    them again, leaves - 1 times in all (theory/wafer.md §7.2). Example: 16 elements in "two_phase":
    24 hops, 19 reads, 3 writes, 15 additions.
    """
    phases = line_phases("X", elements, scheme)
    hops = sum(chain.hops for phase in phases for chain in phase.chains)
    second_receives = _leaves(phases, elements) - 1
    reads = elements + second_receives
    return CollectiveCounts(hops, reads, second_receives, elements - 1)


def count_grid(columns: int, rows: int, scheme: Scheme) -> CollectiveCounts:
    """Count the cost of adding one word over a grid of elements into one of them, in closed form.

    It runs the phases of `grid_phases`: rows first, then the last column. Totals over all elements
    (theory/wafer.md §7.2).
    """
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
