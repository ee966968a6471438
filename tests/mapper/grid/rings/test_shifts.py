"""Which tile each element works on in each turn, and what the elements hold before the run."""

import numpy as np
import pytest
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.rings.ring_links import ring_links
from tilewright.mapper.grid.rings.shifts import first_turns, held_starts, shift_hops, turned_values
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.errors import InfeasibleMapping

FORM = "matrix product"  # Z[m, n] = A[m, k] * B[k, n], 8 x 12 x 6; B is persistent
WORK = (Temporal("m", 1), Temporal("k", 1), Storage(("A",), "Scalar"), Temporal("n", 1))


def read_of(
    *nodes: Node, columns: int = 2, rows: int = 2, form: str = FORM, work: tuple[Node, ...] = WORK
) -> SpaceTime:
    flat, einsum = grid_arch(form, 32, columns, rows), einsum_workload(form).einsums[0]
    return space_time(flat, einsum, Mapping((*nodes, *work, ComputeNode("Z", "Engine"))))


def held(tensor: str, shift: str = "", buffers: int = 2) -> Storage:
    return Storage((tensor,), "SRAM", buffers=buffers, shift=shift)


def cannon(elements: int) -> SpaceTime:
    return read_of(
        Storage(("A", "Z"), "Host"),
        Spatial("n", 6 // elements, "X", "Grid"),
        Spatial("m", -(-8 // elements), "Y", "Grid"),
        Storage(("Z",), "SRAM"),
        Temporal("k", 12 // elements),
        held("A", "X"),
        held("B", "Y"),
        columns=elements,
        rows=elements,
    )


@pytest.mark.parametrize("elements", [2, 3])
def test_tiles_that_meet_are_of_one_turn_and_come_from_the_ring(elements: int) -> None:
    read = cannon(elements)
    first = first_turns(read)
    assert all(sorted(line) == list(range(elements)) for line in (*first, *first.T))
    for link in ring_links(elements):
        assert ((first[:, link.target] + 1) % elements == first[:, link.source]).all()
        assert ((first[link.target] + 1) % elements == first[link.source]).all()
    for tensor in read.shifted:
        assert (held_starts(read, tensor)["k"] == first * 12 // elements).all()
        assert turned_values(read, tensor) is None
    words = (elements - 1) * (12 // elements) * (-(-8 // elements) + 6 // elements)
    assert shift_hops(read) == elements * 2 * (elements - 1) * words


def test_a_tensor_that_stays_lies_in_the_order_of_the_turns() -> None:
    read = read_of(
        Storage(("A", "Z"), "Host"),
        Spatial("n", 3, "X", "Grid"),
        Storage(("Z",), "SRAM"),
        held("B", buffers=1),
        Temporal("k", 6),
        held("A", "X"),
    )
    turned = turned_values(read, read.tensor("B"))
    assert turned is not None
    assert (turned == np.array([[0, 6]])).all()
    assert (held_starts(read, read.tensor("B"))["k"] == 0).all()


HOST, SPACE, OUT = (
    Storage(("A", "Z"), "Host"),
    (Spatial("n", 3, "X", "Grid"), Spatial("m", 4, "Y", "Grid")),
    Storage(("Z",), "SRAM"),
)


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([OUT, Temporal("k", 6), held("A", "X"), held("B")], "a loop stands above B"),
        ([OUT, Temporal("k", 6), held("A"), held("B", "Y")], "A comes in tiles beside"),
        ([OUT, held("A", buffers=1), Temporal("k", 6), held("B", "Y")], "in another order"),
        ([OUT, Temporal("k", 6), held("A", "Y"), held("B", "Y")], "whose elements share"),
        ([OUT, Temporal("k", 6), held("A", "Z"), held("B", "Y")], "no dimension of the grid"),
        ([OUT, Temporal("k", 6), held("A", "X", 1), held("B", "Y", 1)], "with 1 buffers"),
        ([OUT, Temporal("k", 3), held("A", "X"), held("B", "Y")], "4 tiles of A shift along 2"),
        (
            [held("B", buffers=1), Temporal("m", 2), held("A", "X"), held("Z")],
            "a rank of A that is summed over",
        ),
        (
            [Storage(("Z",), "SRAM", shift="X"), Temporal("k", 6), held("A", "X"), held("B", "Y")],
            "Z shifts",
        ),
    ],
)
def test_shifts_that_do_not_meet_say_why(nodes: list[Node], reason: str) -> None:
    with pytest.raises(InfeasibleMapping) as raised:
        read_of(HOST, *SPACE, *nodes)
    assert reason in f"{raised.value.what} {raised.value.instead}"


def test_tiles_that_would_enter_for_each_ring_are_refused() -> None:
    """Z[m, n] = A[m, k] * B[k, l] * C[l, n]: A has no rank over the rows; with B on rings of the
    columns, each row needs another tile of it."""
    with pytest.raises(InfeasibleMapping, match="enter once for each ring"):
        read_of(
            Storage(("A", "C", "Z"), "Host"),
            Spatial("l", 2, "X", "Grid"),
            Spatial("n", 3, "Y", "Grid"),
            Storage(("Z", "C"), "SRAM"),
            Temporal("k", 6),
            held("A", "X"),
            held("B", "Y"),
            form="three matrices",
            work=(),
        )
