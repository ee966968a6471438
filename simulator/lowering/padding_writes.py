"""How elements write the padding of tensors that stay, before they add it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.mapper.grid.exchanges.padding_fills import PaddingFill, padding_fills
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.lowering.number_operations import NUMPY, move_of, number_of
from tilewright.simulator.lowering.sums.sum_roles import Numbers, Role, split_roles


def with_fills(
    read: SpaceTime, roles: Sequence[Role], placement: Numbers
) -> tuple[tuple[Role, ...], Numbers]:
    """Add the fills of padding to the roles; return the roles and each element's number.

    `roles`, `placement`: the roles of elements, and the number of each element's role: (rows,
    columns). Roles are split where some of their elements have padding and others none.
    """
    split = tuple(roles)
    for number, fill in enumerate(padding_fills(read)):
        has_padding = fill.places(read).astype(np.int32)
        split, placement = split_roles(split, placement, has_padding, partial(_with_fill, number))
    return split, placement


def _with_fill(number: int, role: Role, has_padding: int) -> Role:
    return replace(role, fills=(*role.fills, number)) if has_padding else role


def declare_fills(code: CodeBuilder, read: SpaceTime, role: Role) -> None:
    """Declare the descriptors of the padding that the elements of a role write; changes `code`."""
    for number, fill in _fills(read, role):
        name = _name(fill, number)
        if fill.stretches == 1:
            code.mem1d(name, fill.tensor, extent=fill.length, offset=fill.offset)
        else:
            loops = (fill.stretches, fill.pitch), (fill.length, 1)
            code.mem4d(name, fill.tensor, loops=loops, offset=fill.offset)


def fill_padding(task: TaskBuilder, read: SpaceTime, role: Role) -> None:
    """Append the writes of padding to a task, before the work."""
    for number, fill in _fills(read, role):
        dtype = read.dtype_of(fill.tensor)
        value = number_of(fill.value, np.dtype(NUMPY[dtype])).item()
        task.op(move_of(dtype), _name(fill, number), value, label=f"pad {fill.tensor}")


def _fills(read: SpaceTime, role: Role) -> list[tuple[int, PaddingFill]]:
    fills = padding_fills(read) if role.fills else ()
    return [(number, fills[number]) for number in role.fills]


def _name(fill: PaddingFill, number: int) -> str:
    return f"{fill.tensor}_padding{number}"
