"""Bands of rows or columns that nothing joins: equal ones do the same (theory/engines.md §14).

One band of each kind then says what the whole grid does, whatever the elements of a band do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.quotient.line_blocks import Digests, Ints, LineCut, line_digests
from tilewright.simulator.quotient.passing_streams import route_ports
from tilewright.simulator.quotient.shrink import GridCut, shrink

Bools = npt.NDArray[np.bool_]


def one_of_each_band(program: Program) -> Program:
    """Return a program on one of each kind of bands of rows, and of these on one of columns.

    A band is neighbouring rows, or columns, that routes join. Two are of one kind if they run the
    same codes, routes and border ports. The cycles of the result are those of the program.
    """
    rows = np.unique(equal_rows(program, line_digests(program)[0]))
    columns = np.arange(program.width)
    fewer = shrink(program, GridCut(LineCut(rows, ()), LineCut(columns, ())))
    ports = _has_ports(fewer, "WE")
    columns = np.unique(_equal_lines(line_digests(fewer)[1], _joined_columns(fewer), ports))
    rows = np.arange(fewer.height)
    return shrink(fewer, GridCut(LineCut(rows, ()), LineCut(columns, ())))


def equal_rows(program: Program, digests: Digests) -> Ints:
    """Return for each row the equal one of the first band of its kind: (rows,).

    digests: of the rows, which say nothing of the border ports in the north and south.
    """
    return _equal_lines(digests, _joined_rows(program), _has_ports(program, "NS"))


def _joined_rows(program: Program) -> Bools:
    """Return (rows - 1,) whether a route joins each row to the next one."""
    joined = np.zeros(program.height - 1, dtype=bool)
    for area, ports in _crossings(program):
        _join(joined, area.rows, before="N" in ports, behind="S" in ports)
    return joined


def _joined_columns(program: Program) -> Bools:
    """Return (columns - 1,) whether a route joins each column to the next one."""
    joined = np.zeros(program.width - 1, dtype=bool)
    for area, ports in _crossings(program):
        _join(joined, area.columns, before="W" in ports, behind="E" in ports)
    return joined


def _crossings(program: Program) -> Iterator[tuple[Area, frozenset[str]]]:
    yield from ((route.area, frozenset(route_ports(route))) for route in program.routes)


def _join(joined: Bools, lines: range, *, before: bool, behind: bool) -> None:
    """Join lines to those before them, and to those behind them; changes `joined`."""
    numbers = np.array(lines)
    if before:
        joined[numbers[numbers > 0] - 1] = True
    if behind:
        joined[numbers[numbers < joined.size]] = True


def _has_ports(program: Program, sides: str) -> tuple[bool, bool]:
    """Return whether there are border ports at the first and at the last line of an axis."""
    inputs, outputs = program.edge_inputs, program.edge_outputs
    used = {*(port.side for port in inputs), *(port.side for port in outputs)}
    return sides[0] in used, sides[1] in used


def _equal_lines(digests: Digests, joined: Bools, ports: tuple[bool, bool]) -> Ints:
    """Return for each line the equal one of the first band of its kind.

    digests: of the lines, which say nothing of the border ports behind the first and the last one;
    `joined`: whether each line is joined to the next; `ports`: whether there are such ports.
    """
    ends = [*(np.flatnonzero(~joined) + 1).tolist(), len(digests)]
    first_of_kind: dict[tuple[bytes, bool, bool], int] = {}
    equal = np.arange(len(digests))
    first = 0
    for end in ends:
        borders = ports[0] and first == 0, ports[1] and end == len(digests)
        kind = (digests[first:end].tobytes(), *borders)
        equal[first:end] += first_of_kind.setdefault(kind, first) - first
        first = end
    return equal
