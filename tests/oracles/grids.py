"""Small Einsums on the shipped wafer grid, for tests of candidates and their execution."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

from hypothesis import strategies as st

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.candidate import Candidate, grid_candidate
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

HARDWARE = Path(__file__).resolve().parents[2] / "studies" / "hardware" / "wafer_grid.yaml"

MATMUL = """
workload:
  rank_sizes: {{M: {m}, K: {k}, N: {n}}}
  bits_per_value: {{All: 32}}
  persistent_tensors: B
  einsums:
  - einsum: "Z[m, n] = A[m, k] * B[k, n]"
    renames: {{input: A, weight: B, output: Z}}
"""
MATVEC = """
workload:
  rank_sizes: {{M: {m}, K: {k}}}
  bits_per_value: {{All: 32}}
  persistent_tensors: W
  einsums:
  - einsum: "y[m] = W[m, k] * x[k]"
    renames: {{input: x, weight: W, output: y}}
"""


def _workload(name: str, text: str) -> Workload:
    return load_workload(load_document(name, text=text))


@cache
def matmul(m: int, k: int, n: int) -> Workload:
    return _workload("matmul.yaml", MATMUL.format(m=m, k=k, n=n))


@cache
def matvec(m: int, k: int) -> Workload:
    return _workload("matvec.yaml", MATVEC.format(m=m, k=k))


def wafer(workload: Workload, columns: int, rows: int) -> FlatArch:
    arch = load_arch(HARDWARE).with_values({"variables.GridX": columns, "variables.GridY": rows})
    return flatten(arch, workload.scope(workload.einsums[0].name))[0]


def candidate(workload: Workload, columns: int, rows: int, **choices: str | int) -> Candidate:
    flat = wafer(workload, columns, rows)
    return grid_candidate(flat, workload.einsums[0], choices)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    """Legal candidates of small products: every sharding, reduction, tile and buffering."""
    workload = draw(st.sampled_from([matmul(8, 6, 12), matmul(12, 16, 16), matvec(12, 16)]))
    names = [*workload.einsums[0].bounds]
    columns, rows = draw(
        st.sampled_from([*product((1, 2, 3, 4), (1, 2, 3, 4)), (8, 2), (6, 1), (2, 6)])
    )
    choices: dict[str, str | int] = {
        "shard_x": draw(st.sampled_from(names)) if columns > 1 else "none",
        "shard_y": draw(st.sampled_from(names)) if rows > 1 else "none",
        "reduction": draw(st.sampled_from(["chain", "two_phase"])),
        "tile_variable": draw(st.sampled_from(names)),
        "tile": draw(st.integers(0, 4)),
        "buffers": draw(st.sampled_from([1, 2])),
        "weights": draw(st.sampled_from(["resident", "streamed"])),
    }
    try:
        return grid_candidate(wafer(workload, columns, rows), workload.einsums[0], choices)
    except InfeasibleMapping:
        from hypothesis import reject

        reject()
        raise
