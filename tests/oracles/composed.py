"""Programs put together of several ones that have nothing to do with each other.

Each has a block of its own on the diagonal of the grid; what enters or leaves at its edges passes
straight through the elements between the block and the border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from machine_programs import Case

from tilewright.simulator.isa.dsd import Buffer
from tilewright.simulator.program.program import ElementCode, Program, Task
from tilewright.simulator.program.routes import (
    OPPOSITE,
    PORTS,
    Area,
    Color,
    EdgeInput,
    EdgeOutput,
    Route,
)

COLORS = 24
Edge = EdgeInput | EdgeOutput


class Block(NamedTuple):
    """Where a program stands, what its names begin with, and what is added to its color ids."""

    case: Case
    row: int
    column: int
    prefix: str
    colors: int


def compose(cases: Sequence[Case]) -> Case:
    """Return the cases side by side, as many as there are colors for."""
    blocks = _blocks(cases)
    last = blocks[-1]
    height = last.row + last.case.program.height
    width = last.column + last.case.program.width
    placement = np.zeros((height, width), dtype=np.int32)
    codes = [ElementCode("between")]
    parts: dict[str, list[Any]] = {
        "colors": [],
        "routes": [],
        "edge_inputs": [],
        "edge_outputs": [],
    }
    memory: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    for block in blocks:
        program = block.case.program
        rows = slice(block.row, block.row + program.height)
        columns = slice(block.column, block.column + program.width)
        placement[rows, columns] = program.placement + len(codes)
        codes += [_renamed(code, block) for code in program.codes]
        for name, mine in parts.items():
            mine += [_renamed(part, block) for part in getattr(program, name)]
        for edge in (*program.edge_inputs, *program.edge_outputs):
            parts["routes"] += _ways(edge, block, (height, width))
        for name, values in block.case.memory.items():
            memory[block.prefix + name] = _placed(values, block)
        edges |= {block.prefix + name: values for name, values in block.case.edges.items()}
    parts["colors"] = list(dict.fromkeys(parts["colors"]))
    program = Program(
        "composed", tuple(codes), placement, **{k: tuple(v) for k, v in parts.items()}
    )
    return Case(program, memory, {}, edges)


def _blocks(cases: Sequence[Case]) -> list[Block]:
    """Place the cases; streams that could cross get colors of their own."""
    sides = {e.side for c in cases for e in (*c.program.edge_inputs, *c.program.edge_outputs)}
    crossing = bool(sides & {"N", "S"}) and bool(sides & {"W", "E"})
    found: list[Block] = []
    row = column = first = 0
    for number, case in enumerate(cases):
        ids = [color.id for color in case.program.colors]
        if first + max(ids, default=0) >= COLORS:
            break
        found.append(Block(case, row, column, f"p{number}_", first))
        row, column = row + case.program.height, column + case.program.width
        if crossing:
            first += (max(ids, default=0) + 2) // 2 * 2
    return found


def _renamed(part: Any, block: Block) -> Any:
    """Return a part of a program with the block's names, colors and places."""
    if isinstance(part, tuple):
        return tuple(_renamed(item, block) for item in part)
    if not is_dataclass(part):
        return part
    if isinstance(part, Area):
        return replace(part, row=part.row + block.row, column=part.column + block.column)
    changed = {f.name: _renamed(getattr(part, f.name), block) for f in fields(part)}
    for name in ("color", "buffer"):
        if name in changed:
            changed[name] = _name(name, changed[name], block)
    if isinstance(part, Color):
        changed |= {"name": _name("color", part.name, block), "id": part.id + block.colors}
    if isinstance(part, Task) and part.teardown:
        changed["teardown"] = _name("color", part.teardown, block)
    if isinstance(part, Buffer | ElementCode | EdgeInput | EdgeOutput):
        changed["name"] = block.prefix + part.name
    if isinstance(part, EdgeInput | EdgeOutput):
        changed["first"] += block.column if part.side in "NS" else block.row
    return type(part)(**changed)


def _name(what: str, name: str, block: Block) -> str:
    """Return the name of a buffer or color; colors of one id have one name."""
    if what == "buffer":
        return block.prefix + name
    return next(f"c{c.id + block.colors}" for c in block.case.program.colors if c.name == name)


def _ways(edge: Edge, block: Block, shape: tuple[int, int]) -> list[Route]:
    """Return the routes of an edge's streams between the border and the block."""
    program = block.case.program
    below, right = block.row + program.height, block.column + program.width
    along = edge.first + (block.column if edge.side in "NS" else block.row)
    area = {
        "N": Area(0, along, block.row, edge.positions),
        "S": Area(below, along, shape[0] - below, edge.positions),
        "W": Area(along, 0, edge.positions, block.column),
        "E": Area(along, right, edge.positions, shape[1] - right),
    }[edge.side]
    if area.height == 0 or area.width == 0:
        return []
    other = PORTS[OPPOSITE[PORTS.index(edge.side)]]
    rx, tx = (edge.side, other) if isinstance(edge, EdgeInput) else (other, edge.side)
    return [Route(_name("color", edge.color, block), area, (rx,), (tx,))]


def _placed(values: Any, block: Block) -> dict[tuple[int, int], Any]:
    """Return a buffer's data by element of the whole grid."""
    if not isinstance(values, dict):
        values = {place: values[place] for place in np.ndindex(values.shape[:2])}
    return {(r + block.row, c + block.column): v for (r, c), v in values.items()}
