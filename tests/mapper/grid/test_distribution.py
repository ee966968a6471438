"""Which part of a tensor each element holds, and whether it is where the next Einsum needs it."""

import numpy as np
import pytest
from cascades import cascade_arch, cascade_workload

from tilewright.mapper.grid.distribution import lies_elsewhere, needed, produced
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Spatial, Storage, Temporal
from tilewright.simulator.execution.mapped_workload import grid_path

STAYS = frozenset("S")


def read(einsum: str, *nodes: Node, m: int = 4) -> SpaceTime:
    """S[m, n] = A[m, k] * B[k, n], or Z[m] = S[m, n], with S left in 2 x 2 elements."""
    workload = cascade_workload("product, row sums", m=m)
    path = grid_path(cascade_arch(2, 2), workload, workload.einsum(einsum))
    mapping = Mapping((*nodes, ComputeNode(einsum, "Engine")))
    return space_time(path, workload.einsum(einsum), mapping, STAYS)


def product(*space: Node, m: int = 4) -> SpaceTime:
    work = (Temporal("m", 1), Temporal("n", 1), Temporal("k", 1))
    memory = Storage(("A", "B", "S"), "SRAM")
    return read("S", Storage(("A", "B"), "Host"), *space, memory, *work, m=m)


def row_sums(*space: Node, m: int = 4) -> SpaceTime:
    work = (Temporal("m", 1), Temporal("n", 1))
    return read("Z", Storage(("Z",), "Host"), *space, Storage(("S", "Z"), "SRAM"), *work, m=m)


def over(variable: str, axis: str, tile: int = 2) -> Spatial:
    return Spatial(variable, tile, axis, "Grid")


def test_blocks_of_the_result_and_of_what_is_needed() -> None:
    made = produced(product(over("m", "X"), over("n", "Y")))
    assert made.extents == (2, 2)
    np.testing.assert_array_equal(made.first[:, :, 0], [[0, 2], [0, 2]])
    np.testing.assert_array_equal(made.first[:, :, 1], [[0, 0], [2, 2]])
    assert made.has.all()
    use = row_sums(over("m", "X"), over("n", "Y"))
    assert made.serves(needed(use, use.tensor("S")))
    assert made.key == needed(use, use.tensor("S")).key


def test_a_sum_lies_where_its_chain_ends() -> None:
    made = produced(product(over("m", "X"), over("k", "Y")))
    np.testing.assert_array_equal(made.has, [[False, False], [True, True]])
    use = row_sums(over("m", "X"))
    assert use.rows == 1
    assert not made.serves(needed(use, use.tensor("S")))


def test_fewer_elements_find_their_part_in_the_larger_grid() -> None:
    made = produced(product(over("m", "X")))
    small = row_sums(over("m", "X"))
    assert (small.rows, made.has.shape) == (1, (1, 2))
    assert made.serves(needed(small, small.tensor("S")))
    assert not made.serves(needed(row_sums(over("m", "Y")), small.tensor("S")))


@pytest.mark.parametrize("space", [(over("m", "Y"), over("n", "X")), (over("n", "X"),), ()])
def test_another_division_does_not_serve(space: tuple[Spatial, ...]) -> None:
    use = row_sums(*space)
    made = produced(product(over("m", "X"), over("n", "Y")))
    assert not made.serves(needed(use, use.tensor("S")))
    error = lies_elsewhere(use, use.tensor("S"))
    assert "needs other parts" in str(error)
    assert "the same loops over Grid" in str(error)
