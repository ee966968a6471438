"""Pass 3, route: the colors, routes and edge ports of every stream."""

from __future__ import annotations

from itertools import pairwise

from tilewright.mapper.grid.candidate import Candidate, GridTensor
from tilewright.mapper.grid.collectives import Chain, Phase
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.lowering.roles import OUT, link_color
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput

DTYPE = "f32"


def input_color(tensor: str) -> str:
    """Name the color (virtual channel) on which an input tensor is multicast: `in_<tensor>`."""
    return f"in_{tensor}"


def input_edge(tensor: str) -> str:
    """Name the edge port by which an input tensor enters at the border: `edge_<tensor>`."""
    return f"edge_{tensor}"


def route(builder: ProgramBuilder, candidate: Candidate) -> None:
    """Declare in the builder the colors, routes and edge ports of all streams of a candidate.

    Streams are the inputs that are not resident in memory (multicast over the grid from its
    border), the partial sums on the chains of the reduction, and the output to the border unless it
    stays in memory. A route says for a rectangle of elements from which router ports a color comes
    and by which it goes. Changes the builder, returns nothing.
    """
    for tensor in candidate.tensors:
        if not tensor.access.output and not tensor.resident:
            _route_input(builder, candidate, tensor)
    if candidate.output.resident:
        return
    for number, phase in enumerate(candidate.reduction):
        _route_phase(builder, candidate, number, phase)
    _route_output(builder, candidate)


def _route_input(builder: ProgramBuilder, candidate: Candidate, tensor: GridTensor) -> None:
    """Multicast: down the columns, along the rows, or down the first column and along all rows."""
    rows, columns = candidate.grid.rows, candidate.grid.columns
    color = builder.color(input_color(tensor.name))
    count = tensor.tiles * tensor.tile_elements
    if "Y" in tensor.split:
        _multicast(builder, color, Area(0, 0, rows, columns), "WE")
        side, positions = "W", rows
    elif "X" in tensor.split:
        _multicast(builder, color, Area(0, 0, rows, columns), "NS")
        side, positions = "N", columns
    else:
        _multicast(builder, color, Area(0, 0, rows, 1), "NS", aside="E" if columns > 1 else "")
        if columns > 1:
            _multicast(builder, color, Area(0, 1, rows, columns - 1), "WE")
        side, positions = "N", 1
    builder.edge_input(EdgeInput(input_edge(tensor.name), side, 0, positions, color, DTYPE, count))


def _multicast(
    builder: ProgramBuilder, color: str, area: Area, direction: str, aside: str = ""
) -> None:
    """Route lines of an area from direction[0] to direction[1]; every element receives."""
    origin, goes = direction[0], direction[1]
    if goes == "S":
        through = Area(area.row, area.column, area.height - 1, area.width)
        end = Area(area.row + area.height - 1, area.column, 1, area.width)
    else:
        through = Area(area.row, area.column, area.height, area.width - 1)
        end = Area(area.row, area.column + area.width - 1, area.height, 1)
    if through.height and through.width:
        builder.route(color, through, rx=origin, tx=f"{goes}{aside}R")
    builder.route(color, end, rx=origin, tx=f"{aside}R")


def _route_phase(builder: ProgramBuilder, candidate: Candidate, number: int, phase: Phase) -> None:
    """Declare the colors of a phase's links, which alternate, and route its chains."""
    links = max(len(chain.positions) - 1 for chain in phase.chains)
    for parity in range(min(2, links)):
        builder.color(link_color(number, parity))
    for chain in phase.chains:
        _route_chain(builder, candidate, number, phase, chain)


def _route_chain(
    builder: ProgramBuilder, candidate: Candidate, number: int, phase: Phase, chain: Chain
) -> None:
    """Route the links of a chain of a phase: each from an element to the next of the chain."""
    origin, goes = ("W", "E") if phase.axis == "X" else ("N", "S")
    for link, (start, end) in enumerate(pairwise(chain.positions)):
        color = link_color(number, link)
        builder.route(color, _line(candidate, phase, start, 1), rx="R", tx=goes)
        if end - start > 1:
            between = _line(candidate, phase, start + 1, end - start - 1)
            builder.route(color, between, rx=origin, tx=goes)
        builder.route(color, _line(candidate, phase, end, 1), rx=origin, tx="R")


def _line(candidate: Candidate, phase: Phase, start: int, length: int) -> Area:
    """Return the elements from `start` on along the phase's axis, in all its lines."""
    grid = candidate.grid
    first = phase.line or 0
    if phase.axis == "X":
        return Area(first, start, 1 if phase.line is not None else grid.rows, length)
    return Area(start, first, length, 1 if phase.line is not None else grid.columns)


def _route_output(builder: ProgramBuilder, candidate: Candidate) -> None:
    """Route the output from the last elements of the reduction to the edge."""
    grid, output = candidate.grid, candidate.output
    color = builder.color(OUT)
    count = output.tiles * output.tile_elements
    if "X" in output.split:
        area, side, first, positions = Area(grid.rows - 1, 0, 1, grid.columns), "S", 0, grid.columns
    elif "Y" in output.split:
        area, side, first, positions = Area(0, grid.columns - 1, grid.rows, 1), "E", 0, grid.rows
    else:
        area, side = Area(grid.rows - 1, grid.columns - 1), "E"
        first, positions = grid.rows - 1, 1
    builder.route(color, area, rx="R", tx=side)
    builder.edge_output(EdgeOutput(OUT, side, first, positions, color, DTYPE, count))
