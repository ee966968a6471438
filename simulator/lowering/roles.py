"""Pass 1, place: what each element does in the reduction, and the classes that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.candidate import Candidate
from tilewright.mapper.grid.collectives import Phase

Numbers = npt.NDArray[np.int32]
OUT = "out"


@dataclass(frozen=True, slots=True)
class Role:
    """Colors on which an element receives partial sums, in order, and the color it sends on.

    Elements with the same role run the same code. `send` is None where the output stays.
    """

    receives: tuple[str, ...]
    send: str | None

    @property
    def name(self) -> str:
        received = "_".join(self.receives) or "none"
        return f"from_{received}_to_{self.send or 'none'}"


def link_color(number: int, link: int) -> str:
    """Name the color of a chain's link: neighbours alternate between two."""
    return f"sum{number}{'ab'[link % 2]}"


def roles(candidate: Candidate) -> tuple[tuple[Role, ...], Numbers]:
    """Return the roles in the order in which rows of elements show them, and each element's."""
    shape = candidate.grid.rows, candidate.grid.columns
    if candidate.output.resident:
        return (Role((), None),), np.zeros(shape, dtype=np.int32)
    parts = [_parts(phase, number, shape) for number, phase in enumerate(candidate.reduction)]
    marks = np.zeros(shape, dtype=np.int64)
    for kinds, which in parts:
        marks = marks * len(kinds) + which
    found, first, place = np.unique(marks, return_index=True, return_inverse=True)
    numbers: dict[Role, int] = {}
    number = np.zeros(found.size, dtype=np.int32)
    for at in np.argsort(first).tolist():
        role = _joined(int(found[at]), [kinds for kinds, _ in parts])
        number[at] = numbers.setdefault(role, len(numbers))
    return tuple(numbers), number[place].reshape(shape)


Part = tuple[tuple[str, ...], str | None]
"""What an element receives in a phase, and the color on which it sends."""


def _parts(phase: Phase, number: int, shape: tuple[int, int]) -> tuple[list[Part], Numbers]:
    """Return the different parts that elements have in a phase, and each element's."""
    received: dict[int, tuple[str, ...]] = {}
    sent: dict[int, str] = {}
    for chain in phase.chains:
        last = len(chain.positions) - 1
        for at, position in enumerate(chain.positions):
            if at > 0:
                color = link_color(number, at - 1)
                received[position] = (*received.get(position, ()), color)
            if at < last:
                sent[position] = link_color(number, at)
    kinds: dict[Part, int] = {((), None): 0}
    along = np.zeros(shape[0] if phase.axis == "Y" else shape[1], dtype=np.int32)
    for position in sorted(received.keys() | sent.keys()):
        part = received.get(position, ()), sent.get(position)
        along[position] = kinds.setdefault(part, len(kinds))
    which = np.zeros(shape, dtype=np.int32)
    if phase.axis == "Y":
        lines = slice(None) if phase.line is None else slice(phase.line, phase.line + 1)
        which[:, lines] = along[:, None]
    else:
        lines = slice(None) if phase.line is None else slice(phase.line, phase.line + 1)
        which[lines, :] = along[None, :]
    return list(kinds), which


def _joined(mark: int, kinds: list[list[Part]]) -> Role:
    """Return the role whose parts in the phases a mark numbers."""
    parts = []
    for phase in reversed(kinds):
        mark, at = divmod(mark, len(phase))
        parts.append(phase[at])
    receives: list[str] = []
    send = OUT
    for received, sent in reversed(parts):
        receives.extend(received)
        send = sent or send
    return Role(tuple(receives), send)
