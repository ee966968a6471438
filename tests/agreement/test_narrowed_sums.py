"""Sums of f32 whose results are f16: elements convert each value once, where it leaves them.

`execute_einsum` compares with numpy, and the counts with the model's.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from explore import at_night
from grid_mappings import FORMS, HARDWARE, random_mapping, typed_workload

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator import GridRequest, execute, map_on_grid
from tilewright.simulator.execution.action_counts import predicted_energy
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.lowering.lower_bound.cycle_bound import alone_cycles, lower_bound
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.search.bounds.division_bound import DivisionBound
from tilewright.simulator.search.bounds.quick_bound import QuickBound

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon")
NEARLY = 1 + 1e-12


def on_grid(form: str, inputs: str, columns: int, rows: int) -> tuple[FlatArch, Einsum]:
    workload = typed_workload(form, inputs, "f16")
    sizes = {"GridX": columns, "GridY": rows, "SUM_BITS": 32}
    arch = load_arch(HARDWARE, variables=sizes)
    return grid_path(arch, workload, workload.einsums[0]), workload.einsums[0]


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 8))])
def test_random_mappings_run_and_no_bound_is_above_the_cycles(part: int) -> None:
    executed, ratios = Counter[bool](), []
    for seed in range(50 * part, 50 * (part + 1)):
        rng = random.Random(seed)
        form, inputs = rng.choice(list(FORMS)), rng.choice(("f16", "f16", "f32"))
        flat, einsum = on_grid(form, inputs, *rng.choice(((4, 4), (6, 2), (1, 8))))
        try:
            read = space_time(flat, einsum, random_mapping(rng, einsum))
            run = execute_einsum(read, ExecutionSettings(machine=MACHINES[seed % 3]))
        except InfeasibleMapping:
            continue
        executed[read.is_added] += 1
        assert read.narrows
        assert run.counts == run.predicted
        assert 0 < run.lower_bound_cycles <= run.cycles, (seed, form)
        assert Machine(program_of(run.plan), run.profile).cycles() == run.cycles, (seed, form)
        ratios.append(run.lower_bound_cycles / run.cycles)
    assert executed[True] >= 4
    assert executed[False] >= 10
    assert np.median(ratios) >= 0.92


@pytest.mark.parametrize(
    ("inputs", "machine"),
    [
        ("f16", "wse2-sdk-sim"),
        pytest.param("f32", "wse3-sdk-sim", marks=pytest.mark.nightly),
        pytest.param("f32", "wse2-sdk-sim", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("third", [0, *at_night(1, 2)])
def test_no_family_or_division_is_bounded_above_its_plans(
    inputs: str, machine: str, third: int
) -> None:
    checked = 0
    for form in list(FORMS)[third::3]:
        flat, einsum = on_grid(form, inputs, 4, 3)
        space = GridMapspace(grid_of(flat), einsum)
        quick = QuickBound(space, flat, ExecutionSettings(machine=machine).profile(space.grid))
        families = list(space.families())
        for family in random.Random(form).sample(families, min(1, len(families))):
            try:
                cycles, energy = quick.cycles(family), quick.energy(family)
                plans = [plan_of(space_time(flat, einsum, space.mapping_of(choice)))
                         for choice in space.members(family)]  # fmt: skip
            except InfeasibleMapping:
                continue
            division = DivisionBound(quick)
            assert division.energy(family.shares) <= energy * NEARLY
            alone = alone_cycles(plans[0], quick.profile)
            for plan in plans:
                known = quick.cycles(family, plan.read.reduction, alone)
                least = lower_bound(plan, quick.profile)
                run = Machine(program_of(plan), quick.profile).cycles()
                assert division.cycles(family.shares) <= run, (form, family)
                assert cycles <= least <= run, (form, family)
                assert known <= run, (form, family)
                exact = predicted_energy(plan.read)
                known_energy = quick.energy(family, plan.read.reduction)
                assert energy <= known_energy * NEARLY <= exact * NEARLY**2, (form, family)
                checked += 1
    assert checked > 15


WHOLE = """
workload:
  rank_sizes: {M: 6, K: 96, N: 4}
  bits_per_value: {All: 16}
  persistent_tensors: B
  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]
"""


def test_values_are_those_of_numpy_with_sums_in_f32() -> None:
    """Sums of whole numbers are exact in f32, but not in f16, where they would be other ones.

    In one element (1 x 1), in groups of elements by each scheme, and where tiles shift.
    """
    rng, schemes, shifts = np.random.default_rng(1), Counter[str](), 0
    a, b = (rng.integers(0, 40, shape).astype(np.float16) for shape in ((6, 96), (96, 4)))
    wanted = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    halves = np.add.accumulate(a[:, :, None] * b[None], axis=1, dtype=np.float16)[:, -1]
    assert (halves != wanted).any()
    workload = load_workload(WHOLE)
    for columns, rows in ((1, 1), (4, 1), (2, 3), (1, 4), (2, 2)):
        sizes = {"GridX": columns, "GridY": rows, "SUM_BITS": 32}
        einsum = workload.einsums[0]
        flat = grid_path(load_arch(HARDWARE, variables=sizes), workload, einsum)
        space = GridMapspace(grid_of(flat), einsum)
        families = list(space.families())
        shifted = [family for family in families if family.shifts]
        for family in (*random.Random(1).sample(families, 3), *shifted[:2]):
            for choice in space.members(family):
                read = space_time(flat, einsum, space.mapping_of(choice))
                run = execute_einsum(read, ExecutionSettings(), {"A": a, "B": b})
                assert (run.output == wanted).all(), (choice, columns, rows)
                schemes[choice.reduction] += read.is_added
                shifts += bool(read.shifted)
    assert {"chain", "tree", "snake"} <= set(schemes)
    assert any(scheme.startswith("two_phase") for scheme in schemes)
    assert shifts


CASCADE = """
workload:
  rank_sizes: {M: 6, K: 24, N: 4}
  bits_per_value: {All: 16}
  einsums:
  - "Y[m, n] = A[m, k] * B[k, n]"
  - "Z[m] = sum(relu(Y[m, n]))"
"""


def test_a_cascade_passes_results_of_f16_through_the_memory_outside() -> None:
    arch = load_arch(HARDWARE, variables={"GridX": 2, "GridY": 2, "SUM_BITS": 32})
    workload = load_workload(CASCADE)
    answer = map_on_grid(arch, workload, GridRequest(objective="latency"))
    run = execute(arch, workload, answer.mapping)
    assert run.counts == run.predicted
    assert run.values["Y"].dtype == run.values["Z"].dtype == np.float16
    hosts = [node for step in run.einsums for node in step.plan.read.mapping.nodes]
    assert any("Y" in getattr(node, "tensors", ()) and node.component == "Host" for node in hosts)


def test_other_widths_in_the_elements_are_refused() -> None:
    """What an element does not convert is said, with what to write, before any mapping is tried."""
    text = HARDWARE.read_text()
    line = '    bits_per_value: {Outputs: "max(SUM_BITS, Outputs.bits_per_value)"}\n'
    assert line in text
    workload = load_workload(WHOLE)
    for widths, words in (
        ("{A: 32}", "values of A of Z have 16 bits, but 32 in SRAM"),
        ("{Outputs: 8}", "values of Z of Z have 16 bits, but 8 in SRAM"),
    ):
        other = text.replace(line, f"    bits_per_value: {widths}\n").replace(
            "GridX: 4", "GridX: 2"
        )
        arch = load_arch(load_document("a.yaml", text=other))
        with pytest.raises(NoFeasibleMapping, match=words) as error:
            map_on_grid(arch, workload, GridRequest())
        assert "only a result of f16 may have 32 bits, in SRAM" in str(error.value)


def test_sums_of_f32_in_f16_say_how_they_are_written() -> None:
    arch = load_arch(HARDWARE, variables={"GridX": 2, "GridY": 2})
    workload = typed_workload("matrix product", "f32", "f16")
    with pytest.raises(NoFeasibleMapping, match="reads f32 and writes f16") as error:
        map_on_grid(arch, workload, GridRequest())
    assert "bits_per_value: {Z: 32} in the elements' memory" in str(error.value)
    wide = load_arch(HARDWARE, variables={"GridX": 2, "GridY": 2, "SUM_BITS": 32})
    answer = map_on_grid(wide, workload, GridRequest())
    run = execute(wide, workload, answer.mapping)
    assert run.counts == run.predicted


def test_a_result_that_stays_in_the_elements_is_refused() -> None:
    flat, einsum = on_grid("matrix product", "f16", 2, 2)
    space = GridMapspace(grid_of(flat), einsum, staying=frozenset({"Z"}))
    family = next(iter(space.families()))
    mapping = space.mapping_of(space.members(family)[0])
    with pytest.raises(InfeasibleMapping, match="Z stays in SRAM with its sums of f32") as error:
        space_time(flat, einsum, mapping, frozenset({"Z"}))
    assert "Z in Host" in str(error.value)
