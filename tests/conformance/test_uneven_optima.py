"""Optima with imperfect factors by accelforge 1.0.467.

`map_workload_to_arch` with `explore_imperfect_spatial_loops`, `explore_imperfect_temporal_loops`
and `objective_tolerance=0`, on the file that `spec` writes; energy, latency and their product.
"""

from __future__ import annotations

import pytest

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper import evaluate, search
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload_loading import load_workload

Case = tuple[tuple[int, int, int], tuple[int, int], str, tuple[int, int]]

OPTIMA: list[tuple[Case, tuple[float, float, float]]] = [
    (((5, 11, 11), (3, 3), "input | weight", (512, 256)), (490853, 561, 275368533)),
    (((8, 11, 7), (4, 2), "weight | output", (512, 16)), (305720, 527.625, 161305515)),
]
# Its tile list offers 7 = ceil(13 / 2) above a tile of 2: n = 13, 7, 2, 1 is cut unevenly twice.
TWICE: Case = ((3, 11, 13), (3, 3), "All", (256, 256))


def spec(case: Case) -> str:
    (m, k, n), (x, y), keep, (size, throughput) = case
    return f"""
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0
    area: 0
    tensors: {{keep: All}}
    actions:
    - {{name: read, energy: 100, throughput: 8}}
    - {{name: write, energy: 100, throughput: 8}}
  - !Memory
    name: BUF
    size: {size}
    leak_power: 0
    area: 0
    tensors: {{keep: {keep}}}
    actions:
    - {{name: read, energy: 5, throughput: {throughput}}}
    - {{name: write, energy: 6, throughput: 64}}
  - !Container
    name: PE
    spatial:
    - {{name: x, fanout: {x}, reuse: input}}
    - {{name: y, fanout: {y}, reuse: output}}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions: [{{name: compute, energy: 1, throughput: 1}}]
workload:
  bits_per_value: {{All: 8}}
  rank_sizes: {{M: {m}, K: {k}, N: {n}}}
  einsums:
  - einsum: "Z[m, n] = A[m, k] * B[k, n]"
    renames: {{input: A, weight: B, output: Z}}
"""


@pytest.mark.parametrize(("case", "expected"), OPTIMA)
def test_the_optimum_is_theirs(case: Case, expected: tuple[float, float, float]) -> None:
    text = spec(case)
    for objective, value in zip(("energy", "latency", "edp"), expected, strict=True):
        result = search(text, text, objective=objective, conventions="accelforge", uneven="all")
        assert result.certificate.kind == "optimal"
        assert result.certificate.value == pytest.approx(value, rel=1e-6)


def test_a_second_uneven_loop_is_scored_but_not_in_the_mapspace() -> None:
    text = spec(TWICE)
    mapping = Mapping(
        (
            Storage(("Z", "B", "A"), "DRAM"),
            Temporal("n", 7),
            Storage(("Z",), "BUF"),
            Temporal("k", 2),
            Storage(("A",), "BUF"),
            Temporal("n", 2),
            Storage(("B",), "BUF"),
            Temporal("m", 1),
            Spatial("k", 1, "y", "PE"),
            Spatial("n", 1, "x", "PE"),
            ComputeNode("Z", "MAC"),
        )
    )
    arch, workload = load_arch(text), load_workload(text)
    theirs = evaluate(arch, workload, mapping, "accelforge")
    assert theirs.energy == pytest.approx(255853, rel=1e-6)
    (einsum,) = workload.einsums
    (flat,) = flatten(arch, workload.scope(einsum))
    space = Mapspace(einsum, flat, "accelforge", uneven=frozenset("mkn"))
    assert space.contains(mapping) == "n: tiles of 2 do not divide 7"
    ours = search(arch, workload, conventions="accelforge", uneven="all")
    assert ours.certificate.kind == "optimal"
    assert ours.certificate.value > theirs.energy
