"""The text form of a program, read back: `parse_program(print_program(p)) == p`.

The text is hostile until it is parsed: its length, its depth and the grid are bounded, and every
error names line and column. `printing.py` shows the form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.errors import Where
from tilewright.simulator.check.route_check import is_inside
from tilewright.simulator.check.validate import check_program
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import (
    MAX_ELEMENTS,
    Area,
    Color,
    EdgeInput,
    EdgeOutput,
    Route,
)
from tilewright.simulator.text.parsing_code import parse_code
from tilewright.simulator.text.route_text import (
    parse_area,
    parse_edge_input,
    parse_edge_output,
    parse_route,
)
from tilewright.simulator.text.text_places import remember
from tilewright.simulator.text.tokens import Line, Reader


def parse_program(text: str, file: str = "<program>") -> Program:
    """Read a program from its text form and check it as far as no machine profile is needed.

    `file` names the text in errors. Raises ProgramError with file, line and column.
    """
    reader = Reader(text, file)
    declarations = _header(reader)
    while (line := reader.at(0)) is not None:
        word = line.choose(tuple(TOP_LEVEL), "declaration")
        TOP_LEVEL[word](reader, line, declarations)
    program = Program(
        declarations.name,
        tuple(declarations.codes),
        declarations.placement,
        tuple(declarations.colors),
        tuple(declarations.routes),
        tuple(declarations.edge_inputs),
        tuple(declarations.edge_outputs),
    )
    try:
        check_program(program)
    except ProgramError as error:
        error.where = reader.place_of(error.what, error.about)
        raise
    remember(program, reader.place_of)
    return program


@dataclass(slots=True)
class _Declarations:
    """What was declared so far."""

    name: str
    placement: npt.NDArray[np.int32]
    colors: list[Color] = field(default_factory=list)
    codes: list[ElementCode] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    edge_inputs: list[EdgeInput] = field(default_factory=list)
    edge_outputs: list[EdgeOutput] = field(default_factory=list)
    used_colors: set[int] = field(default_factory=set)
    lowest: int = 0

    def free_color(self) -> int:
        """Return the lowest color number that no line above has."""
        while self.lowest in self.used_colors:
            self.lowest += 1
        return self.lowest


def _header(reader: Reader) -> _Declarations:
    line = reader.line
    if line is None:
        raise ProgramError(
            "the text is empty",
            where=Where(reader.file, 1, 1),
            value="",
            instead="`program name 1 x 1` in the first line",
        )
    line.expect("program")
    name = line.name("the program's name")
    column = line.column
    height = line.integer("the number of rows")
    line.expect("x")
    width = line.integer("the number of columns")
    line.end()
    if height < 1 or width < 1 or height * width > MAX_ELEMENTS:
        raise line.fail(
            "the grid is too small or too large",
            column,
            value=(height, width),
            instead=f"1 to {MAX_ELEMENTS} elements",
        )
    reader.advance()
    return _Declarations(name, np.full((height, width), -1, dtype=np.int32))


def _color(reader: Reader, line: Line, declarations: _Declarations) -> None:
    name = line.name("the color's name")
    color = Color(name, line.integer() if line.more else declarations.free_color())
    declarations.colors.append(reader.place(color, reader.here()))
    declarations.used_colors.add(declarations.colors[-1].id)
    _next(reader, line)


def _code(reader: Reader, line: Line, declarations: _Declarations) -> None:
    name = line.name("the code's name")
    reader.declare(f"code {name}")
    start = reader.here()
    _next(reader, line)
    declarations.codes.append(reader.place(parse_code(reader, name), start))


def _place(reader: Reader, line: Line, declarations: _Declarations) -> None:
    column = line.column
    name = line.name("a code's name")
    number = next((i for i, code in enumerate(declarations.codes) if code.name == name), None)
    if number is None:
        names = ", ".join(code.name for code in declarations.codes) or "(none so far)"
        raise line.fail("placement of an unknown code", column, value=name, instead=names)
    column = line.column
    area = parse_area(line)
    rows, columns = declarations.placement.shape
    if not is_inside(area, (rows, columns)):
        raise line.fail("the area leaves the grid", column, value=str(area))
    _fill(line, column, declarations.placement, area, number)
    _next(reader, line)


def _fill(
    line: Line, column: int, placement: npt.NDArray[np.int32], area: Area, number: int
) -> None:
    """Write a code's number into an area; twice the same element is an error.

    The error is a ProgramError with the column.
    """
    cells = placement[area.places]
    if (cells >= 0).any():
        raise line.fail(
            "an element of the area has a code already",
            column,
            value=str(area),
            instead="areas that do not overlap",
        )
    cells[:] = number


def _route(reader: Reader, line: Line, declarations: _Declarations) -> None:
    route = parse_route(line)
    reader.declare(f"route of color {route.color} in {route.area}:")
    declarations.routes.append(reader.place(route, reader.here()))
    _next(reader, line)


def _edge_input(reader: Reader, line: Line, declarations: _Declarations) -> None:
    port = parse_edge_input(line)
    reader.declare(f"edge port {port.name}")
    declarations.edge_inputs.append(reader.place(port, reader.here()))
    _next(reader, line)


def _edge_output(reader: Reader, line: Line, declarations: _Declarations) -> None:
    port = parse_edge_output(line)
    reader.declare(f"edge port {port.name}")
    declarations.edge_outputs.append(reader.place(port, reader.here()))
    _next(reader, line)


def _next(reader: Reader, line: Line) -> None:
    line.end()
    reader.advance()


TOP_LEVEL: Final[dict[str, Callable[[Reader, Line, _Declarations], Any]]] = {
    "color": _color,
    "code": _code,
    "place": _place,
    "route": _route,
    "edge_input": _edge_input,
    "edge_output": _edge_output,
}
