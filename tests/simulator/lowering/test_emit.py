"""The work on a tile: where elements lie, and which visit multiplies without adding."""

import numpy as np
from grids import candidate, matmul, matvec

from tilewright.simulator.instructions.control_flow import Loop
from tilewright.simulator.isa.dsd import Index
from tilewright.simulator.lowering.emit import element_offset, tile_body
from tilewright.simulator.program.instruction import DsdOperation


def operations(body: object) -> list[str]:
    found = []
    for instruction in body:  # type: ignore[attr-defined]
        if isinstance(instruction, DsdOperation):
            found.append(instruction.operation)
        for name in ("body", "then", "otherwise"):
            found += operations(getattr(instruction, name, ()))
    return found


def test_the_first_visit_multiplies_and_the_others_accumulate() -> None:
    body = tile_body(candidate(matvec(8, 12), 3, 2, shard_x="k", shard_y="m"))
    assert operations(body) == ["fmuls", "fmacs"]
    (loop,) = [instruction for instruction in body if isinstance(instruction, Loop)]
    assert loop.count == 12 // 3 - 1  # the visits of k after the first


def test_tiles_of_a_summed_variable_are_fresh_in_the_first_tile_only() -> None:
    body = tile_body(
        candidate(matvec(8, 12), 3, 2, shard_x="k", shard_y="m", tile_variable="k", tile=2)
    )
    assert operations(body) == ["fmuls", "fmacs", "fmacs"]


def test_offsets_are_row_major_in_a_tile() -> None:
    found = candidate(matmul(8, 12, 16), 4, 2, shard_x="k", shard_y="n")
    tensor = next(t for t in found.tensors if len(t.order) == 2 and t.tiles == t.copies == 1)
    outer, inner = tensor.order
    names = tensor.variables[outer], tensor.variables[inner]
    extents = tensor.tile[outer], tensor.tile[inner]
    offsets = [
        element_offset(found, tensor, {names[0]: Index(i), names[1]: Index(j)})
        for i, j in np.ndindex(extents)
    ]
    assert offsets == [Index(n) for n in range(extents[0] * extents[1])]
