"""Tiles in memory: every value has a place of its own, and loops move to the right one."""

from grid_mappings import END, HOST, WHOLE, WORK, einsum_workload, grid_arch, read
from grid_points import element, index, plans, point, turns

from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Storage, Temporal
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.lowering.tile_layout import tile_layout


def test_row_major_with_the_loops_of_the_vector_last() -> None:
    """A[m, k] of 8 x 12: over k as it stands; over m its columns lie one after the other."""
    whole = read([HOST, WHOLE, Storage(("A", "Z"), "SRAM"), *WORK, END])
    tensor = whole.tensor("A")  # loops m, k, n, of 8, 12 and 6 turns
    over_k, over_m = tile_layout(whole, tensor, (1,)), tile_layout(whole, tensor, (0,))
    assert (over_k.order, over_k.moves) == ((0, 1), (12, 1, 0))
    assert (over_m.order, over_m.moves) == ((1, 0), (1, 8, 0))
    assert over_k.element({0: variable("i"), 1: variable("j")}) == (
        12 * variable("i") + variable("j")
    )


def test_a_loop_above_the_tile_does_not_move_in_it() -> None:
    """m in tiles of 2 above A's Storage: 2 x 12 values, moved in by the inner loop only."""
    nodes = [HOST, WHOLE, Temporal("m", 2), Storage(("A", "Z"), "SRAM"), *WORK, END]
    layout = tile_layout(read(nodes), read(nodes).tensor("A"), ())
    assert layout.tensor.values == 24
    assert layout.moves == (0, 12, 1, 0)


def test_windows_share_their_values() -> None:
    """A[p + r] with 8 and 3 values: 10 values, both loops move by one."""
    form = "convolution"
    stored = (Storage(("A", "B", "Z"), "Host"), Storage(("A", "B", "Z"), "SRAM"))
    loops = (Temporal("p", 1), Temporal("r", 1))
    found = space_time(
        grid_arch(form, 32, 1, 1),
        einsum_workload(form).einsums[0],
        Mapping((*stored, *loops, ComputeNode("Z", "Engine"))),
    )
    layout = tile_layout(found, found.tensor("A"), (0,))
    assert (layout.tensor.values, layout.moves) == (10, (1, 1))


def test_equal_indices_are_one_place_and_others_another() -> None:
    for seed, plan in plans(0, 60):
        share = dict.fromkeys(plan.read.einsum.bounds, 0)
        for tensor in plan.read.tensors:
            index_at: dict[tuple[tuple[int, ...], int], tuple[int, ...]] = {}
            for turn in turns(plan.read):
                at = element(plan, tensor.name, turn)
                assert 0 <= at < tensor.values
                key = turn[: tensor.depth], at
                wanted = index(tensor, point(plan.read, share, turn))
                assert index_at.setdefault(key, wanted) == wanted, (seed, tensor.name)
            tiles = {above for above, _ in index_at}
            for above in tiles:
                indices = [i for (tile, _), i in index_at.items() if tile == above]
                assert len(indices) == len(set(indices)), (seed, tensor.name)
