"""Pass 1, place: what each element does in the reduction, and the classes that follow."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.candidate import Candidate
from tilewright.mapper.collectives import Axis, Chain, Phase

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


def roles(candidate: Candidate) -> list[list[Role]]:
    """Return the role of every element, rows of columns."""
    grid = candidate.grid
    return [
        [_role(candidate, column, row) for column in range(grid.columns)]
        for row in range(grid.rows)
    ]


def takes_part(phase: Phase, column: int, row: int) -> bool:
    """Tell whether the element stands in a line of this phase."""
    return phase.line is None or phase.line == (column if phase.axis == "Y" else row)


def place_of(axis: Axis, column: int, row: int) -> int:
    """Return the element's position along an axis."""
    return column if axis == "X" else row


def _role(candidate: Candidate, column: int, row: int) -> Role:
    if candidate.output.resident:
        return Role((), None)
    receives: list[str] = []
    send = OUT
    for number, phase in enumerate(candidate.reduction):
        if not takes_part(phase, column, row):
            continue
        position = place_of(phase.axis, column, row)
        for chain in phase.chains:
            received, sent = _in_chain(chain, position, number)
            receives.extend(received)
            send = sent or send
    return Role(tuple(receives), send)


def _in_chain(chain: Chain, position: int, number: int) -> tuple[list[str], str | None]:
    if position not in chain.positions:
        return [], None
    at = chain.positions.index(position)
    received = [link_color(number, at - 1)] if at > 0 else []
    last = at == len(chain.positions) - 1
    return received, None if last else link_color(number, at)
