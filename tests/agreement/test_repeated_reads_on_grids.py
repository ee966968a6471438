"""Einsums that read a tensor with different indices run on a grid, each access on its own tiles.

`execute_einsum` compares the result with numpy and the counts with the model's.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from explore import at_night
from grid_mappings import (
    HARDWARE,
    REPEATED,
    einsum_workload,
    grid_arch,
    random_space_time,
    typed_workload,
)

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.formulas.reference import reference_values
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.search.grid_mapping import map_on_grid

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim")
RESOURCES = ("free bytes", "depends on", "runs over")


def names_a_resource(error: InfeasibleMapping) -> None:
    assert any(words in error.what for words in RESOURCES), error


def test_random_mappings_run_and_no_bound_is_above_the_cycles() -> None:
    executed = Counter[str]()
    for seed in range(80):
        try:
            form, read = random_space_time(seed, forms=REPEATED)
        except InfeasibleMapping:
            continue
        try:
            run = execute_einsum(read, ExecutionSettings(machine=MACHINES[seed % 2]))
        except InfeasibleMapping as error:
            names_a_resource(error)
            continue
        executed[form] += 1
        assert 0 < run.lower_bound_cycles <= run.cycles, (seed, form)
        assert any(name.endswith("read") and ".2/" in name for name in run.counts)
    assert executed.total() >= 30
    assert len(executed) == len(REPEATED)


@pytest.mark.parametrize("form", [*list(REPEATED)[::2], *at_night(*list(REPEATED)[1::2])])
def test_the_mapspace_runs_and_equals_numpy(form: str) -> None:
    """Members of all sorts of families, against the values of the whole workload."""
    workload = einsum_workload(form)
    einsum, executed = workload.einsums[0], 0
    for columns, rows in ((1, 1), (3, 2), (5, 3)):
        flat = grid_arch(form, 32, columns, rows)
        space = GridMapspace(grid_of(flat), einsum)
        families = list(space.families())
        for family in families[:: max(1, len(families) // 2)]:
            read = space_time(flat, einsum, space.mapping_of(space.members(family)[-1]))
            run = execute_einsum(read)
            executed += 1
            operands = {name: v.astype(np.float64) for name, v in run.operands.items()}
            expected = reference_values(workload, operands)["Z"]
            assert np.allclose(run.output, expected, rtol=1e-4, atol=1e-4)
    assert executed >= 3


@pytest.mark.parametrize("types", [("i16", "i16"), ("f16", "f32"), *at_night(("f16", "f16"))])
def test_other_number_types(types: tuple[str, str]) -> None:
    forms = "product with itself", "sum of neighbours", "difference of neighbours"
    for form in (*forms, "second difference"):
        workload = typed_workload(form, *types)
        flat = grid_path(load_arch(HARDWARE), workload, workload.einsums[0])
        space = GridMapspace(grid_of(flat), workload.einsums[0])
        families = list(space.families())
        for family in families[:: max(1, len(families) // 3)]:
            mapping = space.mapping_of(space.members(family)[-1])
            execute_einsum(space_time(flat, workload.einsums[0], mapping))


def test_padding_of_one_read_does_not_read_values_of_the_other() -> None:
    """k runs over 7 values of 9; padded to 8, its last turn has zeros of A, though A has more."""
    text = (
        "workload:\n  iteration_space_shape: {m: 0 <= m < 3, k: 0 <= k < 7}\n"
        "  bits_per_value: {All: 32}\n  einsums: ['Z[m] = A[K: k] * A[K: m + k]']\n"
    )
    workload = load_workload(load_document("w.yaml", text=text))
    (einsum,) = workload.einsums
    arch = load_arch(HARDWARE, variables={"GridX": 4, "GridY": 1})
    flat = grid_path(arch, workload, einsum)
    space, values = GridMapspace(grid_of(flat), einsum), np.arange(1, 10, dtype=np.float32)
    executed = 0
    for family in space.families():
        read = space_time(flat, einsum, space.mapping_of(space.members(family)[0]))
        run = execute_einsum(read, operands={"A": values})
        executed += read.padding_share > 0
        assert run.output.tolist() == [values[:7] @ values[m : m + 7] for m in range(3)]
    assert executed


CASCADE = """
workload:
  rank_sizes: {M: 8, K: 6, N: 8}
  pad: {M: 1}
  bits_per_value: {All: 32}
  persistent_tensors: W
  einsums:
  - "S[m, k] = A[m, k] + A[M: m + 1, k] + A[M: m - 1, k]"
  - {einsum: "T[m, k] = S[m, k]", is_copy_operation: true}
  - "G[m, n] = S[m, k] * T[M: n, k]"
  - "Z[n, k] = G[N: n, M: m] * W[N: m, K: k] * W[N: n, K: k]"
"""


def test_a_cascade_is_found_and_equals_numpy() -> None:
    """Further reads of inputs and weights, a copy of a computed tensor, ranks by their names."""
    workload = load_workload(load_document("w.yaml", text=CASCADE))
    arch = load_arch(HARDWARE, variables={"GridX": 2, "GridY": 2})
    found = map_on_grid(arch, workload)
    given = {"A": np.arange(48, dtype=np.float32).reshape(8, 6) % 5 - 2}
    run = execute(arch, workload, found.mapping, operands=given)
    inputs = {name: run.values[name].astype(np.float64) for name in ("A", "W")}
    assert (inputs["A"] == given["A"]).all()
    expected = reference_values(workload, inputs)
    for name in ("S", "G", "Z"):
        assert np.allclose(run.values[name], expected[name], rtol=1e-4, atol=1e-4)
    assert "A.2" not in run.values
