"""Colors of a program of several Einsums: those that take the same way everywhere are one.

Every element sends and receives on a color in the order of the Einsums and turns, and no color has
two ways to an element. So words of several Einsums on one color come in the order in which they are
taken (theory/grid.md §13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Color, EdgeInput, EdgeOutput, Route

P = TypeVar("P", EdgeInput, EdgeOutput)


class ColorOf(NamedTuple):
    """A color of one Einsum: the Einsum's name, and the color's in its own program."""

    einsum: str
    color: str


@dataclass(frozen=True, slots=True)
class JoinedColors:
    """The colors, routes and ports of a program of several Einsums.

    `names`: by color of an Einsum, the color of the whole. The ports have the name of the Einsum
    in front.
    """

    names: Mapping[ColorOf, str]
    colors: tuple[Color, ...]
    routes: tuple[Route, ...]
    edge_inputs: tuple[EdgeInput, ...]
    edge_outputs: tuple[EdgeOutput, ...]

    def of(self, einsum: str) -> dict[str, str]:
        """Return by color of an Einsum the color of the whole."""
        return {key.color: name for key, name in self.names.items() if key.einsum == einsum}


def port_name(einsum: str, port: str) -> str:
    """Return the name of an Einsum's port at the border in the program of several."""
    return f"{einsum}_{port}"


def joined_colors(programs: Mapping[str, Program]) -> JoinedColors:
    """Return the colors of the programs of several Einsums, by name, as those of one program."""
    names: dict[ColorOf, str] = {}
    ways: dict[object, str] = {}
    routes: list[Route] = []
    for einsum, program in programs.items():
        ports = _border_colors(program)
        for color in program.colors:
            taken = _routes_of(program, color)
            way = (einsum, color.name) if color.name in ports else _way(taken)
            if way not in ways:
                ways[way] = f"{einsum}_{color.name}"
                routes += (replace(route, color=ways[way]) for route in taken)
            names[ColorOf(einsum, color.name)] = ways[way]
    colors = tuple(Color(name, number) for number, name in enumerate(dict.fromkeys(names.values())))
    return JoinedColors(
        names,
        colors,
        tuple(routes),
        _ports([(e, port) for e, p in programs.items() for port in p.edge_inputs], names),
        _ports([(e, port) for e, p in programs.items() for port in p.edge_outputs], names),
    )


def _border_colors(program: Program) -> set[str]:
    entering = {port.color for port in program.edge_inputs}
    return entering | {port.color for port in program.edge_outputs}


def _routes_of(program: Program, color: Color) -> list[Route]:
    return [route for route in program.routes if route.color == color.name]


def _way(routes: Sequence[Route]) -> frozenset[Route]:
    """Return what makes the way of a color: its routes without its name."""
    return frozenset(replace(route, color="") for route in routes)


def _ports(ports: Sequence[tuple[str, P]], names: Mapping[ColorOf, str]) -> tuple[P, ...]:
    return tuple(
        replace(port, name=port_name(einsum, port.name), color=names[ColorOf(einsum, port.color)])
        for einsum, port in ports
    )
