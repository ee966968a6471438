"""What copies cost under either convention, worked by hand (docs/conventions.md)."""

from __future__ import annotations

from one_einsum import score


def test_copies_read_the_source_and_write_the_destination() -> None:
    mapping = """
        !Storage {tensors: [A], component: DRAM}
        !Storage {tensors: [Y, A], component: BUF}
        !Temporal {rank_variable: m, tile_shape: 1}
        !Temporal {rank_variable: k, tile_shape: 1}
        !Compute {einsum: Y, component: MAC}
    """
    default = score("Y[m, k] = A[m, k]", "M: 4, K: 6", mapping, "default", copy=True)
    moved = {key: count for key, count in default.actions.items() if count}
    assert moved == {"Y/DRAM/A/read": 24, "Y/BUF/Y/write": 24}
    assert default.memory_bits == {"Y/DRAM/A": 24, "Y/BUF/Y": 24}
    assert default.latency_by["Y/MAC"] == 0.0
    theirs = score("Y[m, k] = A[m, k]", "M: 4, K: 6", mapping, "accelforge", copy=True)
    moved = {key: count for key, count in theirs.actions.items() if count}
    assert moved == {"Y/DRAM/A/write": 24, "Y/BUF/A/read": 24}


def test_copy_in_place_moves_nothing() -> None:
    mapping = """
        !Storage {tensors: [A, Y], component: DRAM}
        !Temporal {rank_variable: m, tile_shape: 1}
        !Compute {einsum: Y, component: MAC}
    """
    default = score("Y[m] = A[m]", "M: 4", mapping, "default", copy=True)
    assert not any(default.actions.values())


def test_copy_of_what_lies_below_only_is_read_there() -> None:
    mapping = """
        !Storage {tensors: [Y], component: DRAM}
        !Storage {tensors: [A], component: BUF}
        !Temporal {rank_variable: m, tile_shape: 1}
        !Compute {einsum: Y, component: MAC}
    """
    default = score("Y[m] = A[m]", "M: 4", mapping, "default", copy=True)
    moved = {key: count for key, count in default.actions.items() if count}
    assert moved == {"Y/BUF/A/read": 4, "Y/DRAM/Y/write": 4}
    theirs = score("Y[m] = A[m]", "M: 4", mapping, "accelforge", copy=True)
    assert theirs.energy == default.energy


def test_copy_through_a_buffer_writes_the_destination_back() -> None:
    mapping = """
        !Storage {tensors: [A, Y], component: DRAM}
        !Storage {tensors: [Y, A], component: BUF}
        !Temporal {rank_variable: m, tile_shape: 1}
        !Compute {einsum: Y, component: MAC}
    """
    default = score("Y[m] = A[m]", "M: 4", mapping, "default", copy=True)
    moved = {key: count for key, count in default.actions.items() if count}
    assert moved == {
        "Y/DRAM/A/read": 4,
        "Y/BUF/Y/write": 4,
        "Y/BUF/Y/read": 4,
        "Y/DRAM/Y/write": 4,
    }
