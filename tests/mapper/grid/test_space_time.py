"""A mapping of one Einsum as loops in space and time."""

from grid_mappings import END, HOST, LOOP, OVER_K, OVER_N, TILES, WHOLE, WORK, read

from tilewright.mapper.grid.space_time import TimeLoop
from tilewright.mapper.mapping.mapping import Storage


def test_the_example_of_the_theory() -> None:
    found = read([HOST, OVER_K, OVER_N, WHOLE, LOOP, TILES, *WORK, END])
    assert (found.columns, found.rows, found.kernel) == (4, 2, 1)
    assert found.time[0] == TimeLoop("m", 2, 4)
    assert found.tensor("A").extents == (2, 3)
    assert (found.tensor("B").resident, found.tensor("B").values) == (True, 9)
    assert found.visits(found.tensor("A")) == 4
    assert found.scalar == "A"
    assert found.is_reduced("k")
    assert found.dtype == "f32"


def test_sixteen_bits_are_f16() -> None:
    assert read([HOST, WHOLE, Storage(("A", "Z"), "SRAM"), END], bits=16).dtype == "f16"
