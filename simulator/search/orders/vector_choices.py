"""The loops that the vector operation of a mapping may run over, in each of their orders."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import permutations

from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.simulator.lowering.kernel import STRIDE_REGISTERS

Names = tuple[str, ...]


def vector_choices(
    space: GridMapspace, scalar: str | None, several: Collection[str]
) -> Iterator[Names]:
    """Yield the rank variables that an operation may run over, outermost first.

    The first is in the order of the output's ranks, and has all variables that it may have. With an
    input in the register (`scalar`), others have less of them; without, a kernel takes as many as
    descriptors have strides. `several`: variables with several values in a tile.
    """
    if scalar is None:
        kept = space.einsum.outputs[0].rank_variables
        names = [name for name in space.by_output if name in several and name in kept]
        size = min(len(names), STRIDE_REGISTERS // len(set(space.einsum.tensors)))
        yield from (each[::-1] for each in permutations(names[::-1], size))
        return
    taken = space.vector_variables(scalar)
    names = [name for name in space.by_output if name in several and name in taken]
    for size in range(len(names), -1, -1):
        yield from permutations(names, size)
