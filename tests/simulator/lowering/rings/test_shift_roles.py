"""The classes of elements whose tiles go round rings, and the text of their plans."""

import numpy as np
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.simulator.execution.einsum_execution import execute_einsum
from tilewright.simulator.lowering.passes.plan_passes import plan_lines
from tilewright.simulator.lowering.plan import plan_of
from tilewright.simulator.lowering.rings.shift_program import free_queues
from tilewright.simulator.lowering.rings.shift_roles import with_shifts
from tilewright.simulator.lowering.sums.sum_roles import Role


def vector_on_a_ring(columns: int) -> SpaceTime:
    """Z[m] = A[m, k] * B[k], the values of B on a ring of up to 8 elements, A in them."""
    form = "vector times matrix"  # Z[n] = A[k] * B[k, n], 12 x 6; B is persistent
    flat, einsum = grid_arch(form, 32, columns, 1), einsum_workload(form).einsums[0]
    nodes = (
        Storage(("A", "Z"), "Host"),
        Spatial("n", 6 // columns, "X", "Grid"),
        Storage(("B", "Z"), "SRAM"),
        Temporal("k", 12 // columns),
        Storage(("A",), "SRAM", buffers=2, shift="X"),
        Temporal("k", 1),
        Storage(("A",), "Scalar"),
        Temporal("n", 1),
        ComputeNode("Z", "Engine"),
    )
    return space_time(flat, einsum, Mapping(nodes))


def test_each_element_sends_on_the_color_on_which_the_next_one_receives() -> None:
    read = vector_on_a_ring(6)
    roles, placement = with_shifts(read, [Role()], np.zeros((1, 6), dtype=np.int32))
    shifts = [roles[number].shifts[0] for number in placement[0]]
    order = [0, 2, 4, 5, 3, 1]
    for source, target in zip(order, order[1:] + order[:1], strict=True):
        assert shifts[source].sends == shifts[target].receives
    assert all(shift.sends != shift.receives for shift in shifts)
    assert len(roles) == 6
    assert free_queues(read)[:3] == [0, 2, 3]


def test_a_vector_goes_round_a_ring() -> None:
    for columns in (2, 3, 6):
        run = execute_einsum(vector_on_a_ring(columns))
        assert run.counts["Z/SRAM/A/read"] - 12 * columns == (columns - 1) * 12
        assert run.lower_bound_cycles <= run.cycles


def test_a_plan_says_what_shifts() -> None:
    streams = "A: enters by columns, 3 streams of 4 words, 1 periods of 1 tiles of 4"
    lines = plan_lines(plan_of(vector_on_a_ring(3)))
    assert f"{streams}, then shifts along X 2 times" in lines
