"""Elements add up integers of 32 bits, and take maxima of integers, value by value in a map.

`execute_einsum` compares with numpy exactly, and the counts with the model's.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from explore import at_night
from grid_mappings import HARDWARE, random_mapping, typed_workload

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.schemes.reduction_scheme import reduction_scheme
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.lowering.plan import program_of
from tilewright.simulator.lowering.sums.sum_chains import line_costs
from tilewright.simulator.lowering.sums.sum_operations import joining_operation
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.search.bounds.quick_bound import QuickBound

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon")
SUMS = (
    "matrix times vector", "matrix product", "dot product", "sum of rows", "sum of all",
    "largest of rows", "largest of products", "distance", "convolution", "largest in windows",
    "product with itself",
)  # fmt: skip


def on_grid(form: str, dtype: str, columns: int, rows: int) -> tuple[FlatArch, Einsum]:
    workload = typed_workload(form, dtype, dtype)
    arch = load_arch(HARDWARE, variables={"GridX": columns, "GridY": rows})
    return grid_path(arch, workload, workload.einsums[0]), workload.einsums[0]


@pytest.mark.parametrize("part", [0, *at_night(1, 2, 3)])
def test_random_mappings_add_up_and_no_bound_is_above_the_cycles(part: int) -> None:
    executed, ratios = Counter[str](), []
    for seed in range(150 * part, 150 * (part + 1)):
        rng = random.Random(seed)
        form, dtype = rng.choice(SUMS), rng.choice(("i32", "i32", "i16"))
        flat, einsum = on_grid(form, dtype, *rng.choice(((4, 4), (6, 2), (8, 1))))
        try:
            read = space_time(flat, einsum, random_mapping(rng, einsum, rng.choice((2, 4))))
        except InfeasibleMapping:
            continue
        shares = [share for share in read.space if read.is_reduced(share.variable)]
        if not shares or joining_operation(read) is not None:
            continue
        run = execute_einsum(read, ExecutionSettings(machine=MACHINES[seed % 2]))
        executed["sent behind the work"] += read.output.depth > 0 and read.output.buffers == 2
        executed[dtype] += 1
        assert 0 < run.lower_bound_cycles <= run.cycles, (seed, form)
        ratios.append(run.lower_bound_cycles / run.cycles)
    assert executed["i32"] >= 9
    assert executed["i16"] >= 1
    assert part or executed["sent behind the work"] >= 1  # rare among drawn mappings
    assert np.median(ratios) >= 0.85


@pytest.mark.parametrize(
    ("form", "stays"),
    [
        ("matrix product", False),
        ("matrix times vector", True),
        pytest.param("matrix times vector", False, marks=pytest.mark.nightly),
        pytest.param("matrix product", True, marks=pytest.mark.nightly),
        pytest.param("largest of rows", False, marks=pytest.mark.nightly),
        pytest.param("largest of rows", True, marks=pytest.mark.nightly),
    ],
)
def test_all_schemes(form: str, *, stays: bool) -> None:
    """Chains, trees, snakes, and rings where the result stays; bounds of families, both engines."""
    orders, staying = Counter[str](), frozenset({"Z"} if stays else ())
    for number, (columns, rows) in enumerate(((3, 4), (5, 2), (4, 1))):
        flat, einsum = on_grid(form, "i32", columns, rows)
        settings = ExecutionSettings(machine=MACHINES[number])
        profile = settings.profile(grid_of(flat))
        space = GridMapspace(grid_of(flat), einsum, staying=staying)
        space = replace(space, costs=line_costs(profile))
        quick = QuickBound(space, flat, profile)
        families = [f for f in space.families() if max(space.groups(f.shares)) > 1]
        families.sort(key=lambda f: (-min(space.groups(f.shares)), f.buffers))
        rings = [f for f in families if "all_reduce(ring)" in space.reductions(f)]
        for family in (*families[:: max(1, len(families) // 3)], *rings[:1]):
            for choice in space.members(family):
                read = space_time(flat, einsum, space.mapping_of(choice), staying)
                run = execute_einsum(read, settings)
                known = quick.cycles(family), quick.cycles(family, choice.reduction)
                assert known[0] <= known[1] <= run.lower_bound_cycles <= run.cycles, choice
                joules = sum(e for key, e in run.energy_by.items() if "leak" not in key)
                assert quick.energy(family, choice.reduction) <= joules * (1 + 1e-9)
                assert Machine(program_of(run.plan), profile).cycles() == run.cycles
                fast = FastMachine(program_of(run.plan), profile).cycles
                assert fast in (None, run.cycles), choice
                orders[reduction_scheme(choice.reduction).order] += 1
    expected = {"x_first", "y_first", "snake"} | ({"ring"} if stays else set())
    assert set(orders) == expected


@pytest.mark.parametrize("dtype", ["i32", "i16"])
def test_sums_over_elements_wrap_around_as_in_numpy(dtype: str) -> None:
    flat, einsum = on_grid("matrix times vector", dtype, 4, 3)
    space, rng = GridMapspace(grid_of(flat), einsum), np.random.default_rng(1)
    limits = np.iinfo(dtype.replace("i", "int"))
    given = {
        name: rng.integers(limits.min, limits.max, shape, dtype=limits.dtype, endpoint=True)
        for name, shape in (("A", (8, 12)), ("B", (12,)))
    }
    families = [f for f in space.families() if max(space.groups(f.shares)) > 1]
    for family in families[:: max(1, len(families) // 5)]:
        read = space_time(flat, einsum, space.mapping_of(space.members(family)[0]))
        assert np.array_equal(execute_einsum(read, operands=given).output, given["A"] @ given["B"])


@pytest.mark.parametrize(("inputs", "output"), [("i16", "i32"), ("i32", "i16")])
@pytest.mark.parametrize(
    "form", ["matrix product", "rectifier", *at_night("sum of rows", "distance")]
)
def test_integers_of_two_widths(form: str, inputs: str, output: str) -> None:
    """Elements compute with 32 bits, as numpy does with these operands in int32."""
    workload = typed_workload(form, inputs, output)
    (einsum,) = workload.einsums
    arch = load_arch(HARDWARE, variables={"GridX": 3, "GridY": 4})
    flat = grid_path(arch, workload, einsum)
    space, rng = GridMapspace(grid_of(flat), einsum), np.random.default_rng(3)
    limits = np.iinfo(inputs.replace("i", "int"))
    given = {
        access.tensor: rng.integers(
            limits.min, limits.max, access.array_shape(einsum.bounds), dtype=limits.dtype
        )
        for access in einsum.inputs
    }
    a, b = (given[name].astype(np.int32) if name in given else None for name in "AB")
    values = {
        "matrix product": lambda: a @ b,
        "sum of rows": lambda: a.sum(axis=1, dtype=np.int32),
        "rectifier": lambda: np.maximum(a, 0),
        "distance": lambda: ((a[:, None] - b) ** 2).sum(axis=2, dtype=np.int32),
    }
    expected = values[form]().astype(output.replace("i", "int"))
    families = list(space.families())
    for number, family in enumerate(families[:: max(1, len(families) // 6)]):
        read = space_time(flat, einsum, space.mapping_of(space.members(family)[-1]))
        settings = ExecutionSettings(machine=MACHINES[number % 3])
        assert np.array_equal(execute_einsum(read, settings, given).output, expected)


@pytest.mark.parametrize("dtype", ["i32", "i16"])
def test_maxima_over_elements_of_negative_integers(dtype: str) -> None:
    flat, einsum = on_grid("largest of rows", dtype, 4, 3)
    space = GridMapspace(grid_of(flat), einsum)
    least = np.iinfo(dtype.replace("i", "int")).min
    given = {"A": (np.arange(96).reshape(8, 12) * 7 % 50 + least).astype(dtype.replace("i", "int"))}
    families = [f for f in space.families() if max(space.groups(f.shares)) > 1]
    for family in families[:: max(1, len(families) // 5)]:
        read = space_time(flat, einsum, space.mapping_of(space.members(family)[0]))
        assert np.array_equal(execute_einsum(read, operands=given).output, given["A"].max(axis=1))
