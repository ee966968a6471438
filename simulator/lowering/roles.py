"""Pass 1, place: the role of each element in the reduction; elements with one role share a code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.candidate import Candidate
from tilewright.mapper.grid.collectives import Phase
from tilewright.mapper.grid.grid import Grid

Numbers = npt.NDArray[np.int32]
OUT = "out"


@dataclass(frozen=True, slots=True)
class Role:
    """Say what an element does in the reduction: which sums it receives, where it sends its own.

    receives: names of the colors (virtual channels) on which partial sums arrive, in the order in
    which they are added. send: the color on which the element sends its sum, `out` for the final
    output to the border; None where the output stays in memory. Elements with one role run the same
    code.
    """

    receives: tuple[str, ...]
    send: str | None

    @property
    def name(self) -> str:
        """Name the role, and so its elements' code: `from_sum0a_to_out`, `from_none_to_sum0b`."""
        received = "_".join(self.receives) or "none"
        return f"from_{received}_to_{self.send or 'none'}"


def link_color(number: int, link: int) -> str:
    """Name the color of a link of a reduction chain: `sum<phase>a`, or `sum<phase>b` if odd.

    number: of the phase of the reduction; link: its place in the chain, from 0. Neighbouring links
    need two colors so that an element can receive on one and send on the other.
    """
    return f"sum{number}{'ab'[link % 2]}"


def roles(candidate: Candidate) -> tuple[tuple[Role, ...], Numbers]:
    """Find every element's role in a candidate's reduction: what it receives and sends.

    Returns the different roles, in row-major order of their first element, and an array (rows,
    columns) with the number of each element's role. If the output stays in memory there is one
    role, which neither receives nor sends.
    """
    grid = candidate.grid
    shape = grid.rows, grid.columns
    if candidate.output.resident:
        return (Role((), None),), np.zeros(shape, dtype=np.int32)
    parts = [_phase_parts(phase, number, grid) for number, phase in enumerate(candidate.reduction)]
    marks = np.zeros(shape, dtype=np.int64)
    for phase in parts:
        marks = marks * len(phase.kinds) + phase.kind
    values, first, place = np.unique(marks, return_index=True, return_inverse=True)
    numbers: dict[Role, int] = {}
    number = np.zeros(values.size, dtype=np.int32)
    for index in np.argsort(first).tolist():
        role = _joined_role(int(values[index]), [phase.kinds for phase in parts])
        number[index] = numbers.setdefault(role, len(numbers))
    return tuple(numbers), number[place].reshape(shape)


PhasePart = tuple[tuple[str, ...], str | None]
"""What an element receives in a phase, and the color on which it sends."""


class PhaseParts(NamedTuple):
    """Hold what elements do in one phase of the reduction (chains along one axis of the grid).

    kinds: the different parts, each (colors received in order, color sent on or None); kind: (rows,
    columns) number of each element's part.
    """

    kinds: list[PhasePart]
    kind: Numbers
    """(rows, columns)."""


def _phase_parts(phase: Phase, number: int, grid: Grid) -> PhaseParts:
    """Return the parts of elements in a phase, which `number` tells from other phases."""
    received: dict[int, tuple[str, ...]] = {}
    sent: dict[int, str] = {}
    for chain in phase.chains:
        last = len(chain.positions) - 1
        for link, position in enumerate(chain.positions):
            if link > 0:
                color = link_color(number, link - 1)
                received[position] = (*received.get(position, ()), color)
            if link < last:
                sent[position] = link_color(number, link)
    kinds: dict[PhasePart, int] = {((), None): 0}
    along = np.zeros(grid.rows if phase.axis == "Y" else grid.columns, dtype=np.int32)
    for position in sorted(received.keys() | sent.keys()):
        part = received.get(position, ()), sent.get(position)
        along[position] = kinds.setdefault(part, len(kinds))
    kind = np.zeros((grid.rows, grid.columns), dtype=np.int32)
    lines = slice(None) if phase.line is None else slice(phase.line, phase.line + 1)
    if phase.axis == "Y":
        kind[:, lines] = along[:, None]
    else:
        kind[lines, :] = along[None, :]
    return PhaseParts(list(kinds), kind)


def _joined_role(mark: int, kinds: list[list[PhasePart]]) -> Role:
    """Return the role of a mark, a number whose digits are the parts in the phases."""
    parts = []
    for phase in reversed(kinds):
        mark, kind = divmod(mark, len(phase))
        parts.append(phase[kind])
    receives: list[str] = []
    send = OUT
    for received, sent in reversed(parts):
        receives.extend(received)
        send = sent or send
    return Role(tuple(receives), send)
