"""Executions of large grids by their pattern, beside those of the engines."""

import numpy as np
import pytest
from tests.oracles.grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution import einsum_execution
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.search.grid_search import GridSearch

PRODUCT = """workload:
  rank_sizes: {M: 16, K: 16, N: 16}
  bits_per_value: {All: 16}
  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]
"""


def gemv() -> SpaceTime:
    text = (
        "workload:\n  rank_sizes: {M: 250, K: 130}\n  bits_per_value: {All: 16}\n"
        '  persistent_tensors: A\n  einsums: ["Z[m] = A[m, k] * B[k]"]\n'
    )
    workload = load_workload(load_document("gemv.yaml", text=text))
    arch = load_arch(HARDWARE, variables={"GridX": 64, "GridY": 33})
    flat = flatten(arch, workload.scope("Z"))[0]
    wanted = GridConstraints(x="m", y="k", reduction="chain", tile="none", buffers=1)
    space = GridMapspace(grid_of(flat), workload.einsums[0], wanted)
    family = next(f for f in space.families() if f.resident)
    return space_time(flat, space.einsum, space.mapping_of(space.members(family)[0]))


def test_a_run_by_the_pattern_is_that_of_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    read = gemv()
    whole = execute_einsum(read)
    monkeypatch.setattr(einsum_execution, "LARGE_GRID", 64)
    quick = execute_einsum(read)
    assert (whole.engine, quick.engine) == ("reference", "values alone")
    assert quick.cycles == whole.cycles
    assert quick.counts == whole.counts
    assert quick.energy_by == whole.energy_by
    assert quick.error_share == whole.error_share
    assert quick.output.tobytes() == whole.output.tobytes()
    assert dict(quick.memory).keys() == whole.memory.keys()
    assert all(np.array_equal(quick.memory[name], whole.memory[name]) for name in whole.memory)
    assert np.array_equal(quick.trace.link_words, whole.trace.link_words)
    shown = execute_einsum(read, ExecutionSettings(shown_elements=2))  # a timeline needs an engine
    assert shown.engine == "fast, with certificate"


def test_the_best_of_a_search_runs_for_values_alone_where_its_run_is_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workload = load_workload(load_document("product.yaml", text=PRODUCT))
    arch = load_arch(HARDWARE, variables={"GridX": 4, "GridY": 4})
    flat = flatten(arch, workload.scope("Z"))[0]
    short = GridSearch().run(flat, workload.einsums[0]).execution
    monkeypatch.setattr(einsum_execution, "VALUES_ALONE_PAY", 0)
    long = GridSearch().run(flat, workload.einsums[0]).execution
    assert (short.engine, long.engine) == ("reference", "values alone")
    assert long.plan.read.mapping == short.plan.read.mapping
    assert (long.cycles, long.counts) == (short.cycles, short.counts)
    assert long.output.tobytes() == short.output.tobytes()
    assert long.busy_share is None
    assert short.busy_share is not None
    assert 0 < short.busy_share < 1
    assert long.trace.cycles_by_reason() == short.trace.cycles_by_reason()


def test_a_long_run_is_for_values_alone_where_the_fast_engine_finds_its_cycles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = gemv()
    whole = execute_einsum(read)
    monkeypatch.setattr(einsum_execution, "VALUES_ALONE_PAY", 0)
    quick = execute_einsum(read)
    assert (whole.engine, quick.engine) == ("reference", "values alone")
    assert (quick.cycles, quick.counts) == (whole.cycles, whole.counts)
    assert quick.output.tobytes() == whole.output.tobytes()
    monkeypatch.setattr(FastMachine, "cycles", None)
    assert execute_einsum(read).engine == "reference"
