"""Each named difference between the conventions, worked by hand (docs/conventions.md)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from one_einsum import ARCH, score

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.errors import MappingError
from tilewright.mapper.workload.workload_loading import load_workload

LANES = """
    !Storage {tensors: [A, B, Z], component: DRAM}
    !Temporal {rank_variable: n, tile_shape: 8}
    !Spatial {rank_variable: n, tile_shape: 1, component: MAC, name: lane}
    !Temporal {rank_variable: m, tile_shape: 1}
    !Compute {einsum: Z, component: MAC}
"""


def test_leakage_is_gated_once() -> None:
    """2 of 8 lanes in use, 1 W each: 8 W * 2/8 for 1 s; AccelForge: 1 W * 2/8/8."""
    mapping = LANES.replace("tile_shape: 8", "tile_shape: 2")
    default = score("Z[m, n] = A[m] * B[n]", "M: 1, N: 2", mapping, "default")
    theirs = score("Z[m, n] = A[m] * B[n]", "M: 1, N: 2", mapping, "accelforge")
    assert default.latency == theirs.latency == 1.0
    assert default.energy_by["Z/MAC/leak"] == 2.0
    assert theirs.energy_by["Z/MAC/leak"] == 1 / 32


def test_own_fanout_counts_in_area_and_leakage() -> None:
    """One buffer and eight lanes of 1 m² each."""
    default = score("Z[m, n] = A[m] * B[n]", "M: 1, N: 8", LANES, "default")
    theirs = score("Z[m, n] = A[m] * B[n]", "M: 1, N: 8", LANES, "accelforge")
    assert (default.area, default.leak_power) == (9.0, 9.0)
    assert (theirs.area, theirs.leak_power) == (2.0, 2.0)


def test_uneven_factors_take_whole_steps_and_exact_counts() -> None:
    """11 over 8 lanes: 8, then 3. Two steps, 11 reads of B, one read of A in each step."""
    default = score("Z[m, n] = A[m] * B[n]", "M: 1, N: 11", LANES, "default")
    theirs = score("Z[m, n] = A[m] * B[n]", "M: 1, N: 11", LANES, "accelforge")
    assert (default.latency, theirs.latency) == (2.0, 11 / 8)
    assert default.actions["Z/DRAM/B/read"] == theirs.actions["Z/DRAM/B/read"] == 11
    assert default.actions["Z/DRAM/A/read"] == 2
    assert default.actions["Z/MAC/None/compute"] == 11


def test_uneven_tiles_above_an_irrelevant_loop_are_exact() -> None:
    """k = 7 in tiles of 3, 3 and 1: seven operations, not three times three."""
    mapping = """
        !Storage {tensors: [A, B, Z], component: DRAM}
        !Temporal {rank_variable: k, tile_shape: 3}
        !Storage {tensors: [Z], component: BUF}
        !Temporal {rank_variable: k, tile_shape: 1}
        !Compute {einsum: Z, component: MAC}
    """
    default = score("Z[m] = A[m, k] * B[k]", "M: 1, K: 7", mapping, "default")
    theirs = score("Z[m] = A[m, k] * B[k]", "M: 1, K: 7", mapping, "accelforge")
    # 7 operations write; visits 2 and 3 fill: 7 + 2. Read: 6 by the operations, 3 to drain.
    assert default.actions["Z/BUF/Z/write"] == 7 + 2
    assert default.actions["Z/BUF/Z/read"] == 6 + 3
    assert theirs.actions["Z/BUF/Z/write"] == 9 + 2
    assert theirs.actions["Z/BUF/Z/read"] == 8 + 3


def test_occupancy_does_not_depend_on_the_order_of_adjacent_holders() -> None:
    """A is used row by row, so one row (6) of it is enough, wherever it is listed."""
    mapping = """
        !Storage {tensors: [A, B, Z], component: DRAM}
        !Storage {tensors: [FIRST, SECOND], component: BUF}
        !Temporal {rank_variable: m, tile_shape: 1}
        !Temporal {rank_variable: n, tile_shape: 1}
        !Temporal {rank_variable: k, tile_shape: 1}
        !Compute {einsum: Z, component: MAC}
    """
    bits = {}
    for order in ("AB", "BA"):
        text = mapping.replace("FIRST", order[0]).replace("SECOND", order[1])
        for conventions in ("default", "accelforge"):
            one = score("Z[m, n] = A[m, k] * B[k, n]", "M: 4, N: 8, K: 6", text, conventions)
            bits[order, conventions] = (one.memory_bits["Z/BUF/A"], one.memory_bits["Z/BUF/B"])
    assert bits["AB", "default"] == bits["BA", "default"] == (6, 48)
    assert bits["AB", "accelforge"] == (24, 48)
    assert bits["BA", "accelforge"] == (6, 48)


def test_initial_tile_shape_is_honoured() -> None:
    """p = 7 as 3, 2, 2 with a window of 3: tiles of I of 5, 4 and 4; F comes three times."""
    mapping = """
        !Storage {tensors: [I, F, O], component: DRAM}
        !Temporal {rank_variable: p, tile_shape: 2, initial_tile_shape: 3}
        !Storage {tensors: [I, F, O], component: BUF}
        !Temporal {rank_variable: p, tile_shape: 1}
        !Temporal {rank_variable: r, tile_shape: 1}
        !Compute {einsum: O, component: MAC}
    """
    default = score("O[p] = I[W: p + r] * F[r]", "P: 7, R: 3", mapping, "default")
    theirs = score("O[p] = I[W: p + r] * F[r]", "P: 7, R: 3", mapping, "accelforge")
    assert default.actions["O/DRAM/I/read"] == 5 + 4 + 4
    assert default.actions["O/DRAM/F/read"] == 3 * 3
    assert default.memory_bits["O/BUF/I"] == 3  # of a tile, only the sliding window stays
    assert theirs.actions["O/DRAM/I/read"] == 14  # 3.5 tiles of 4
    assert float(theirs.actions["O/DRAM/F/read"]) == 3 * 3.5


def test_loops_of_the_mapping_keep_what_stands_above_them() -> None:
    """Both Einsums run inside the loop over m, so all tensors stay in DRAM throughout.

    AccelForge counts shared loops by the tensors that are exchanged: Y is backed above the loop.
    """
    workload = load_workload(
        "workload:\n  rank_sizes: {M: 4, K: 3, N: 2, P: 5}\n  bits_per_value: {All: 1}\n"
        "  einsums:\n"
        '  - "Y[m, n] = A[m, k] * B[k, n]"\n'
        '  - "Z[m, p] = Y[m, n] * W[n, p]"\n'
    )
    mapping = load_mapping(
        """
mapping:
  nodes:
  - !Storage {tensors: [A, B, W, Z, Y], component: DRAM}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Temporal {rank_variable: k, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
    - !Nested
      nodes:
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Temporal {rank_variable: p, tile_shape: 1}
      - !Compute {einsum: Z, component: MAC}
"""
    )
    arch = load_arch(ARCH)
    a, b, w, y, z = 12, 6, 10, 8, 20
    assert evaluate(arch, workload, mapping).capacity == {"DRAM": a + b + w + y + z}
    theirs = evaluate(arch, workload, mapping, "accelforge")
    assert theirs.capacity == {"DRAM": max(a + b + y, y + w + z)}


def test_a_distributed_memory_works_in_whole_places() -> None:
    """2 places for 4 lanes, one lane in use: one place holds the 4 values, not half a place."""
    arch = load_arch(
        """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Array
    name: GRID
    spatial: [{name: x, fanout: 4}]
    nodes:
    - !Memory
      name: BUF
      size: 100
      area: 0
      leak_power: 0
      spatial: [{name: x, fanout: 2}]
      actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
    )
    workload = load_workload(
        "workload: {rank_sizes: {M: 4}, bits_per_value: {All: 1}, einsums: ['Z[m] = A[m]']}\n"
    )
    text = """
mapping:
  nodes:
  - !Storage {tensors: [A, Z], component: DRAM}
  - !Storage {tensors: [Z], component: BUF}
  - !Spatial {rank_variable: m, tile_shape: TILE, component: GRID, name: x}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Compute {einsum: Z, component: MAC}
"""
    bits = {}
    for tile in ("4", "1"):
        for conventions in ("default", "accelforge"):
            one = evaluate(arch, workload, load_mapping(text.replace("TILE", tile)), conventions)
            bits[tile, conventions] = one.memory_bits["Z/BUF/Z"]
    assert (bits["4", "default"], bits["4", "accelforge"]) == (4, 8)
    assert bits["1", "default"] == bits["1", "accelforge"] == 2


def test_area_and_leakage_of_a_distributed_memory() -> None:
    """2 places on a grid of 4 x 2: 2 m². AccelForge: the whole grid, 8 m². Half the grid gated."""
    text = ARCH.replace(
        "  - !Memory\n    name: BUF",
        "  - !Array\n    name: GRID\n    spatial: "
        "[{name: x, fanout: 4, power_gateable: true}, {name: y, fanout: 2}]\n    nodes:\n"
        "  - !Memory\n    name: BUF",
    )
    head, member = text.split("  - !Memory\n    name: BUF")
    member, tail = member.split("  - !Compute")
    member = "      name: BUF\n      spatial: [{name: x, fanout: 2}]" + member.replace("\n", "\n  ")
    arch = load_arch(f"{head}    - !Memory\n{member.rstrip()}\n  - !Compute{tail}")
    workload = load_workload(
        "workload: {rank_sizes: {M: 4}, bits_per_value: {All: 1}, einsums: ['Z[m] = A[m]']}\n"
    )
    mapping = """
mapping:
  nodes:
  - !Storage {tensors: [A, Z], component: DRAM}
  - !Storage {tensors: [Z], component: BUF}
  - !Spatial {rank_variable: m, tile_shape: 2, component: GRID, name: x}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Compute {einsum: Z, component: MAC}
"""
    default = evaluate(arch, workload, load_mapping(mapping))
    theirs = evaluate(arch, workload, load_mapping(mapping), "accelforge")
    assert (default.area_by["BUF"], theirs.area_by["BUF"]) == (2.0, 8.0)
    assert (default.leak_power_by["BUF"], theirs.leak_power_by["BUF"]) == (2.0, 8.0)
    assert default.latency == 2.0
    assert default.energy_by["Z/BUF/leak"] == 2 * (1 / 2) * 2  # lanes 0 and 1: one of two places
    assert theirs.energy_by["Z/BUF/leak"] == 8 * (2 / 4 / 4) * 2


def test_a_spatial_loop_may_stand_above_holders_above_its_fanout() -> None:
    """Z in BUF keeps its 4 x 2 values, whether the loop over the lanes is above or below it."""
    hold = "!Storage {tensors: [Z], component: BUF}"
    lanes = "!Spatial {rank_variable: m, tile_shape: 2, component: MAC, name: lane}"
    text = """
    !Storage {tensors: [A, B, Z], component: DRAM}
    !Temporal {rank_variable: k, tile_shape: 1}
    FIRST
    SECOND
    !Temporal {rank_variable: m, tile_shape: 1}
    !Temporal {rank_variable: n, tile_shape: 1}
    !Compute {einsum: Z, component: MAC}
"""
    matmul, sizes = "Z[m, n] = A[m, k] * B[k, n]", "M: 4, N: 2, K: 2"
    below = score(matmul, sizes, text.replace("FIRST", hold).replace("SECOND", lanes), "default")
    above = text.replace("FIRST", lanes).replace("SECOND", hold)
    assert below.memory_bits["Z/BUF/Z"] == 8
    assert score(matmul, sizes, above, "default") == below
    with pytest.raises(MappingError, match="would have to change places"):
        score(matmul, sizes, above, "accelforge")


def test_json_numbers_lose_nothing() -> None:
    """No JSON number holds a third, so its exact value stands beside it."""
    counts = {"whole": 2**70, "third": Fraction(1, 3), "half": Fraction(1, 2), "two": Fraction(2)}
    plain = Score(0.0, 1.0, 0.0, 0.0, 0.0, float("inf"), actions=counts).to_dict()
    assert plain["actions"] == {"whole": 2**70, "third": 1 / 3, "half": 0.5, "two": 2}
    assert plain["exact"] == {"third": "1/3"}
    assert plain["leak_energy"] is None


SHARED_INPUT = """
workload:
  rank_sizes: {M: 8, K: 8, N: 8}
  bits_per_value: {All: 1}
  einsums:
  - "V[m, n] = A[m, k] * B[k, n]"
  - "W[m, n] = A[m, k] * C[k, n]"
  - "Z[m, n] = V[m, n] * W[m, n]"
"""
ABOVE_A_LOOP = """
mapping:
  nodes:
  - !Storage {tensors: [A, B, C, Z], component: DRAM}
  - !Storage {tensors: [A], component: BUF}
  - !Temporal {rank_variable: n, tile_shape: 2}
  - !Storage {tensors: [V, W], component: BUF}
  - !Sequential
    nodes:
"""


def test_einsums_that_use_one_storage_share_its_tile() -> None:
    """A (64) with V and W (16 each); accelforge 1.0.467 refuses the mapping below 160 bits."""
    loops = "".join(
        f"      - !Temporal {{rank_variable: {v}, tile_shape: 1}}\n" for v in ("n", "m", "k")
    )
    branches = [(name, loops) for name in ("V", "W")]
    branches.append(("Z", "".join(loops.splitlines(keepends=True)[:2])))
    text = ABOVE_A_LOOP + "".join(
        f"    - !Nested\n      nodes:\n{inner}      - !Compute {{einsum: {name}, component: MAC}}\n"
        for name, inner in branches
    )
    workload, arch = load_workload(SHARED_INPUT), load_arch(ARCH)
    for conventions, bits in (("default", 64 + 16 + 16), ("accelforge", 2 * 64 + 16 + 16)):
        found = evaluate(arch, workload, load_mapping(text), conventions)
        assert found.capacity["BUF"] == bits


def test_a_constant_in_an_index_moves_a_tile() -> None:
    """A[m + 2] above m: 4 values, or 6; below m: 1 a turn, or 3. An operation takes one of them."""
    hold = "!Storage {tensors: [A], component: BUF}"
    loop = "!Temporal {rank_variable: m, tile_shape: 1}"
    frame = """
        !Storage {tensors: [A, B, Z], component: DRAM}
        MIDDLE
        !Temporal {rank_variable: n, tile_shape: 1}
        !Compute {einsum: Z, component: MAC}
    """
    for middle, default, theirs in ((f"{hold}\n{loop}", 4, 6), (f"{loop}\n{hold}", 4, 12)):
        mapping = frame.replace("MIDDLE", middle)
        for conventions, reads in (("default", default), ("accelforge", theirs)):
            found = score("Z[m, n] = A[X: m + 2] * B[n]", "M: 4, N: 3", mapping, conventions)
            assert found.actions["Z/DRAM/A/read"] == reads
            assert found.actions["Z/BUF/A/read"] == 4 * 3
            assert found.memory_bits["Z/BUF/A"] == (3 if conventions == "accelforge" else 1)


def test_what_is_disabled_keeps_its_lanes_for_accelforge() -> None:
    """8 multiplications on 4 lanes of a disabled buffer: 2 s; by default it is passed by: 8 s. An
    empty set disables by default only."""
    dealt = "enabled: ENABLED\n    spatial: [{name: z, fanout: 4}]\n    size: 10000"
    arch = ARCH.replace("size: 10000", dealt).replace("fanout: 8", "fanout: 1")
    text = "workload: {bits_per_value: {All: 1}, rank_sizes: {M: 8}, einsums: [EINSUM]}\n"
    workload = text.replace("EINSUM", '"Z[m] = A[m] * B[m]"')
    for enabled in ("len(All) == 2", "Nothing", "All"):
        of_buf = arch.replace("ENABLED", enabled)
        found = search(of_buf, workload, objective="latency", conventions="accelforge")
        assert found.certificate.value == 2
        default = search(of_buf, workload, objective="latency")
        assert default.certificate.value == (2 if enabled == "All" else 8)
