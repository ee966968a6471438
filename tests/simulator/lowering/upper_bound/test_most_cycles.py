"""The cycles of products whose tiles come during the work lie between two bounds."""

import random

import pytest
from explore import at_night
from grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.lowering.lower_bound.cycle_bound import lower_bound
from tilewright.simulator.lowering.plan import Plan, plan_of, program_of
from tilewright.simulator.lowering.sums.sum_operations import passed_parts
from tilewright.simulator.lowering.upper_bound.most_cycles import most_cycles
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.run.machine import Machine


def product_plan(
    counts: tuple[int, int],
    sizes: tuple[int, int, int],
    text: str,
    machine: str,
    operands: tuple[tuple[str, ...], tuple[Storage, ...]],
) -> tuple[Plan, Profile]:
    """The plan of a product on a square of elements with tiles of m, k, n values.

    counts: elements of a side, parts of k. text: further lines of the workload. operands: those
    that stand outside, and how the elements hold tiles of them.
    """
    (elements, steps), (m, k, n), (outside, tiles) = counts, sizes, operands
    ranks = f"{{M: {m * elements}, K: {k * steps}, N: {n * elements}}}"
    einsums = "  einsums: ['C[m, n] = A[m, k] * B[k, n]']\n"
    text = f"workload:\n  rank_sizes: {ranks}\n{text}{einsums}"
    workload = load_workload(load_document("product.yaml", text=text))
    arch = load_arch(HARDWARE, variables={"GridX": elements, "GridY": elements})
    flat = grid_path(arch, workload, workload.einsums[0])
    nodes = (
        *((Storage(outside, "Host"),) if outside else ()),
        Spatial("n", n, "X", "Grid"),
        Spatial("m", m, "Y", "Grid"),
        Storage(("C",), "SRAM"),
        Temporal("k", k),
        *tiles,
        Temporal("m", 1),
        Temporal("k", 1),
        Storage(("A",), "Scalar"),
        Temporal("n", 1),
        ComputeNode("C", "Engine"),
    )
    read = space_time(flat, workload.einsums[0], Mapping(nodes))
    profile = ExecutionSettings(machine=machine).profile(read.grid)
    return plan_of(read, profile.sram_reserved_bytes), profile


def cannon(
    elements: int, sizes: tuple[int, int, int], bits: int, machine: str, outside: str = ""
) -> tuple[Plan, Profile]:
    """A product on a square of elements with tiles of m, k, n values; `outside`: not resident."""
    tiles = (
        Storage(("A",), "SRAM", buffers=2, shift="X"),
        Storage(("B",), "SRAM", buffers=2, shift="Y"),
    )
    text = f"  bits_per_value: {{All: {bits}}}\n  persistent_tensors: A | B\n"
    return product_plan((elements, elements), sizes, text, machine, (tuple(outside), tiles))


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 10))])
@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim"])
def test_cycles_lie_between_the_bounds(machine: str, part: int) -> None:
    rng, known = random.Random(f"{machine} {part}"), 0
    for _ in range(5):
        sizes = rng.randint(4, 12), rng.randint(4, 12), rng.choice([8, 12, 16, 17, 24])
        plan, profile = cannon(rng.randint(2, 6), sizes, rng.choice([32, 32, 16]), machine)
        cycles, most = Machine(program_of(plan), profile).cycles(), most_cycles(plan, profile)
        assert lower_bound(plan, profile) <= cycles, sizes
        if most is not None:
            assert cycles <= most <= 1.03 * cycles, sizes
            known += 1
    assert known >= 1


def entering(
    elements: int,
    sizes: tuple[int, int, int],
    steps: int,
    bits: int,
    machine: str,
    leaves: str = "",
) -> tuple[Plan, Profile]:
    """A product whose operands enter along rows and columns, `steps` parts of k values each.

    leaves: the result if it goes outside.
    """
    tiles = (Storage(("A", "B"), "SRAM", buffers=2),)
    text = f"  bits_per_value: {{All: {bits}}}\n"
    outside = ("A", "B", *leaves)
    return product_plan((elements, steps), sizes, text, machine, (outside, tiles))


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 10))])
@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim"])
def test_the_same_of_operands_that_enter(machine: str, part: int) -> None:
    rng, known = random.Random(f"{machine} {part}"), 0
    for _ in range(5):
        sizes = rng.randint(8, 16), rng.choice([8, 16, 24]), rng.choice([8, 12, 16, 17])
        steps, bits = rng.randint(3, 6), rng.choice([32, 32, 16])
        plan, profile = entering(rng.randint(2, 6), sizes, steps, bits, machine)
        cycles, most = Machine(program_of(plan), profile).cycles(), most_cycles(plan, profile)
        assert lower_bound(plan, profile) <= cycles, sizes
        if most is not None:
            assert cycles <= most <= (1 + 1 / steps) * cycles, sizes
            known += 1
    assert known >= 1


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 10))])
@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim"])
def test_the_same_of_results_that_leave_down_the_columns(machine: str, part: int) -> None:
    rng, known = random.Random(f"leave {machine} {part}"), 0
    for _ in range(8):
        sizes = rng.randint(4, 16), rng.choice([8, 16, 24]), rng.choice([3, 8, 12, 16, 17])
        elements, bits = rng.randint(2, 8), rng.choice([32, 32, 16])
        if rng.random() < 0.5:
            plan, profile = entering(elements, sizes, rng.randint(2, 6), bits, machine, "C")
        else:
            plan, profile = cannon(elements, sizes, bits, machine, "C")
        assert plan.sums.exit == "gather"
        plan = plan_of(plan.read, profile.sram_reserved_bytes, channels=rng.randint(1, 9))
        cycles, most = Machine(program_of(plan), profile).cycles(), most_cycles(plan, profile)
        assert lower_bound(plan, profile) <= cycles, sizes
        if most is not None:
            assert cycles <= most <= 1.5 * cycles, sizes
            known += 1
    assert known >= 1


def test_results_that_an_element_passes_on_in_several_operations() -> None:
    plan, profile = entering(8, (96, 4, 96), 2, 32, "wse3-sdk-sim", "C")
    assert len(passed_parts(96 * 96, 7)) == 3
    cycles, most = Machine(program_of(plan), profile).cycles(), most_cycles(plan, profile)
    assert most is not None
    assert cycles <= most <= 1.01 * cycles


def test_nothing_is_said_of_tiles_that_enter_and_shift() -> None:
    for outside in ("A", "AC"):
        plan, profile = cannon(2, (8, 8, 8), 32, "wse3-sdk-sim", outside)
        assert most_cycles(plan, profile) is None


def test_nothing_is_said_of_words_that_take_more_than_a_cycle() -> None:
    plan, profile = cannon(4, (16, 16, 16), 16, "wse3-silicon")
    assert most_cycles(plan, profile) is None


def test_nothing_is_said_where_tiles_may_come_behind_the_work() -> None:
    plan, profile = cannon(2, (1, 32, 1), 32, "wse2-sdk-sim")
    assert most_cycles(plan, profile) is None
