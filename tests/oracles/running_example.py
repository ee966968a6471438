"""The running example of docs/theory/model.md: Z[m, n] = A[m, k] * B[k, n], m = 8, k = 4, n = 2.

One bit per value, on DRAM - BUF - MAC. Steps of the path, by their place:

    0-2  A, B, Z in DRAM
    3    Temporal m, tile 2      4 turns
    4    A in BUF
    5    Temporal n, tile 1      2 turns
    6    Temporal k, tile 1      4 turns
    7    Temporal m, tile 1      2 turns
"""

from __future__ import annotations

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.model.paths.loops import PathLoop, loops_of
from tilewright.mapper.model.paths.nest import (
    Lowering,
    TensorNest,
    nest_of,
    reservations,
    some_loop_sinks,
    stop_unless_adjacent,
)
from tilewright.mapper.model.paths.path import Path, paths_of
from tilewright.mapper.model.paths.view import EinsumView, make_view
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0
    actions: [{name: read, energy: 10, throughput: 1}, {name: write, energy: 10, throughput: 1}]
  - !Memory
    name: BUF
    size: 64
    area: 3
    leak_power: 0.5
    actions: [{name: read, energy: 2, throughput: 4}, {name: write, energy: 2, throughput: 4}]
  - !Compute
    name: MAC
    area: 1
    leak_power: 0
    spatial: [{name: x, fanout: 2}, {name: y, fanout: 2}]
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
EINSUM, SIZES = "Z[m, n] = A[m, k] * B[k, n]", "M: 8, K: 4, N: 2"
LOOPS = """
Storage {tensors: [A, B, Z], component: DRAM}
Temporal {rank_variable: m, tile_shape: 2}
Storage {tensors: [A], component: BUF}
Temporal {rank_variable: n, tile_shape: 1}
Temporal {rank_variable: k, tile_shape: 1}
Temporal {rank_variable: m, tile_shape: 1}
Compute {einsum: Z, component: MAC}
"""
LANES = LOOPS.replace(
    "Temporal {rank_variable: n, tile_shape: 1}",
    "Spatial {rank_variable: n, tile_shape: 1, name: x, component: MAC}",
).replace(
    "Temporal {rank_variable: m, tile_shape: 1}",
    "Spatial {rank_variable: m, tile_shape: 1, name: y, component: MAC}",
)
"""The same with the two lanes of each dimension of the MAC over n and over the m of a tile."""

_LANE_GRID = """\
arch:
  nodes:
  - !Array
    name: GRID
    spatial: [{name: x, fanout: 4}]
    nodes:
    - !Memory
      name: MEM
      size: inf
      area: 0
      leak_power: 0
      spatial: [{name: x, fanout: PLACES}]
      actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
NETWORK  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
_LANE_NETWORK = """\
    - !Network
      name: NOC
      area: 0
      leak_power: 0
      actions: [{name: hop, energy: 1, throughput: 1, latency: 1}]
"""


def grid_of_lanes(places: int, network: bool = False) -> str:
    """Write a row of four lanes with a memory MEM at some places, and a Network if asked for."""
    text = _LANE_GRID.replace("PLACES", str(places))
    return text.replace("NETWORK", _LANE_NETWORK if network else "")


def path_of(nodes: str = LOOPS) -> Path:
    """Return the path of a mapping with one node per line."""
    lines = "".join(f"  - !{line}\n" for line in nodes.strip().splitlines())
    (path,) = paths_of(load_mapping("mapping:\n  nodes:\n" + lines))
    return path


def view_of(einsum: str = EINSUM, sizes: str = SIZES, arch: str = ARCH) -> EinsumView:
    """Return the view of the one Einsum of a workload on the one Compute of an architecture."""
    workload = load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 1}}\n"
        f'  einsums: ["{einsum}"]\n'
    )
    (flat,) = flatten(load_arch(arch), workload.scope(workload.einsums[0]))
    return make_view(workload.einsums[0], flat)


def loops_and_nest(
    tensor: str, nodes: str = LOOPS, view: EinsumView | None = None
) -> tuple[dict[int, PathLoop], TensorNest]:
    """Return the loops of a path, and the nest that one tensor sees under `default` rules."""
    view = view or view_of()
    path = path_of(nodes)
    loops = loops_of(path, view)
    rules = Lowering(stop_unless_adjacent, some_loop_sinks, view)
    reserved = reservations(path, loops, view.tensors, rules)
    return loops, nest_of(view.tensors[tensor], path, loops, view, reserved)
