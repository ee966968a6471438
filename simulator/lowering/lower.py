"""Lower a candidate for a grid to a program: place, allocate, route, emit, schedule.

Each pass is a module, its result can be printed.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.grid.candidate import Candidate
from tilewright.mapper.layout import MemoryMap
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.lowering.allocate import allocate
from tilewright.simulator.lowering.emit import tile_body
from tilewright.simulator.lowering.roles import Role, roles
from tilewright.simulator.lowering.route import DTYPE, route
from tilewright.simulator.lowering.schedule import schedule
from tilewright.simulator.program.program import Program


@dataclass(frozen=True, slots=True)
class Lowered:
    """Hold a program for the simulator with what the lowering decided on the way.

    - `candidate`: the mapping of one Einsum onto the grid that was lowered.
    - `roles`: what each class of elements receives and sends in the reduction, one per code;
      `program.placement` says which elements have it.
    - `memory`: addresses of the tensors' tiles in an element, in 16-bit words.
    - `program`: codes, placement, routes and edge ports, without the values of tensors.
    """

    candidate: Candidate
    roles: tuple[Role, ...]
    """One per code; `program.placement` says which elements have it."""
    memory: MemoryMap
    program: Program


def lower(candidate: Candidate, reserved_bytes: int = 0) -> Lowered:
    """Translate a candidate (a mapping of one Einsum onto the grid) to a program of the simulator.

    The program holds the codes of the elements, routes and edge ports; the values of the tensors
    are given at the run (`run_inputs`). reserved_bytes: memory of each element that the machine
    itself uses. Raises InfeasibleMapping if the tiles do not fit an element's memory, or if a
    tensor has another width than 32 bits per value; ProgramError if the resulting program is not
    valid.
    """
    memory = allocate(candidate, reserved_bytes)
    classes, codes = roles(candidate)
    grid = candidate.grid
    builder = ProgramBuilder(candidate.einsum.name, grid.rows, grid.columns)
    route(builder, candidate)
    body = tile_body(candidate)
    for role in classes:
        code = builder.code(role.name)
        for tensor in candidate.tensors:
            placement = memory.buffer(tensor.name)
            shape = (tensor.copies, tensor.tile_elements)
            code.buffer(tensor.name, DTYPE, shape, placement.base)
        schedule(code, candidate, role, body)
    builder.placement(codes)
    return Lowered(candidate, classes, memory, builder.build())
