"""A builder of programs: names in, one frozen validated `Program` out."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.check.field_types import check_fields, new_record
from tilewright.simulator.check.route_check import is_inside
from tilewright.simulator.check.validate import check_program
from tilewright.simulator.compile.families.code_families import canonical_code
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import (
    MAX_ELEMENTS,
    Area,
    Color,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    RangeFilter,
    Route,
    Switch,
)

P = TypeVar("P")


class ProgramBuilder:
    """Collects a program for a grid of `height` rows and `width` columns of elements.

    Declare codes (programs of classes of elements), colors, routes and edge ports, place the codes,
    then call `build`. Raises ProgramError for a wrong size.
    """

    def __init__(self, name: str, height: int, width: int) -> None:
        given = (height, width)
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in given) or (
            height * width > MAX_ELEMENTS
        ):
            raise ProgramError(
                f"program {name}: the grid has a number of rows and of columns",
                value=given,
                instead=f"integers from 1 on, at most {MAX_ELEMENTS} elements",
            )
        self.name = name
        self._codes: list[CodeBuilder | ElementCode] = []
        self._placement = np.full((height, width), -1, dtype=np.int32)
        self._colors: list[Color] = []
        self._routes: list[Route] = []
        self._edge_inputs: list[EdgeInput] = []
        self._edge_outputs: list[EdgeOutput] = []

    @property
    def codes(self) -> tuple[CodeBuilder, ...]:
        """The builders of the codes, in the order of their declaration."""
        return tuple(code for code in self._codes if isinstance(code, CodeBuilder))

    def code(self, name: str) -> CodeBuilder:
        """Declare a class of elements and return the builder of its program.

        Raises ProgramError if the name is no text.
        """
        if not isinstance(name, str):
            raise ProgramError("the name of a code is a text", value=name)
        code = CodeBuilder(name)
        self._codes.append(code)
        return code

    def written_code(self, code: ElementCode) -> None:
        """Declare a class of elements whose program was built before.

        Raises ProgramError if `code` is no ElementCode.
        """
        if not isinstance(code, ElementCode):
            raise ProgramError(
                "this is no code", value=code, instead="what CodeBuilder.build gives"
            )
        self._codes.append(code)

    def color(self, name: str, id: int | None = None) -> str:  # noqa: A002
        """Declare a color, a virtual channel of the network, and return its name.

        `id`: number of the color, None for the lowest one in no use. Raises ProgramError if it is
        no integer.
        """
        if id is not None and not isinstance(id, int):
            raise ProgramError(f"color {name}: the id is a number", value=id)
        used = {color.id for color in self._colors}
        free = next(i for i in range(len(used) + 1) if i not in used)
        self._colors.append(Color(name, free if id is None else id))
        return name

    def place(self, code: str, area: Area) -> None:
        """Give all elements of an area this code; later calls replace earlier ones.

        Raises ProgramError for an unknown code or an area outside of the grid.
        """
        names = [c.name for c in self._codes]
        if not isinstance(code, str) or code not in names:
            raise ProgramError("placement of an unknown code", value=code, instead=str(names))
        if not isinstance(area, Area):
            raise ProgramError(f"placement of code {code}: this is no area", value=area)
        check_fields(area, f"placement of code {code}")
        height, width = self._placement.shape
        if not is_inside(area, (height, width)):
            raise ProgramError(
                f"placement of code {code}: the area leaves the grid",
                value=str(area),
                instead=f"within {Area(0, 0, height, width)}",
            )
        self._placement[area.places] = names.index(code)

    def placement(self, codes: npt.NDArray[np.integer]) -> None:
        """Set the code of every element: an array (height, width) of numbers of codes from 0 on.

        They count in the order of declaration. Raises ProgramError for an array of another shape or
        of other numbers.
        """
        numbers = np.asarray(codes)
        if numbers.shape != self._placement.shape or not np.issubdtype(numbers.dtype, np.integer):
            raise ProgramError(
                "the placement is an array of numbers of codes",
                value=f"{numbers.dtype} {numbers.shape}",
                instead=f"integers of shape {self._placement.shape}",
            )
        self._placement[:, :] = numbers

    def route(  # noqa: PLR0913 (the keywords of a color's configuration)
        self,
        color: str,
        area: Area,
        *,
        rx: str,
        tx: str,
        switch: Switch | None = None,
        filter: CounterFilter | RangeFilter | None = None,  # noqa: A002
        **properties: Any,
    ) -> None:
        """Say what the routers of an area do with a color.

        `rx`: letters of the ports that wavelets are taken from; `tx`: of those they are sent to (N,
        E, S, W, R for the ramp to the element); rx="W", tx="ER" passes on to the east and to the
        element. `switch`, `filter`: see the types. Properties: `teardown`, it starts torn down;
        `swap`, x, y or xy, an exchange with the partner color. Raises ProgramError for no letters
        or another property.
        """
        try:
            directions = tuple(rx), tuple(tx)
        except TypeError:
            raise ProgramError(
                f"route of color {color}: rx and tx are letters of ports",
                value=(rx, tx),
                instead='letters of N E S W R, as in rx="W", tx="ER"',
            ) from None
        values = (color, area, *directions, switch, filter)
        self._routes.append(new_record(Route, f"route of color {color}", *values, **properties))

    def edge_input(self, port: EdgeInput) -> None:
        """Add an edge input: streams of wavelets that enter at the border of the grid.

        Raises ProgramError if `port` is no EdgeInput.
        """
        self._edge_inputs.append(_checked_port(port, EdgeInput))

    def edge_output(self, port: EdgeOutput) -> None:
        """Add an edge output: streams of wavelets that leave at the border of the grid.

        Raises ProgramError if `port` is no EdgeOutput.
        """
        self._edge_outputs.append(_checked_port(port, EdgeOutput))

    def build(self) -> Program:
        """Return the program as a frozen record, after all checks that need no machine profile.

        Raises ProgramError that names the first part that is wrong.
        """
        codes = [code.build() if isinstance(code, CodeBuilder) else code for code in self._codes]
        program = Program(
            self.name,
            tuple(canonical_code(code) for code in codes),
            self._placement.copy(),
            tuple(self._colors),
            tuple(self._routes),
            tuple(self._edge_inputs),
            tuple(self._edge_outputs),
        )
        check_program(program)
        return program


def _checked_port(port: P, kind: type[P]) -> P:
    """Return an edge port as it is.

    Raises ProgramError if it is not of the type `kind`.
    """
    if not isinstance(port, kind):
        raise ProgramError(
            "this is no port at the border", value=port, instead=f"{kind.__name__}(...)"
        )
    return port
