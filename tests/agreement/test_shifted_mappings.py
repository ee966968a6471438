"""Tiles that go round rings: what is in the mapspace runs, equals numpy, and counts as predicted.

`execute_einsum` itself compares the result with numpy and the machine's counts with the model's.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from statistics import median

import pytest
from explore import at_night
from grid_mappings import FORMS, HARDWARE, random_kernel, workload_text

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.action_counts import predicted_energy
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.search.bounds.quick_bound import QuickBound

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim")
SUMS = [form for form, text in FORMS.items() if "k" in text or "r" in text.split("=")[1]]
NEARLY = 1 + 1e-12
RESOURCES = ("free bytes", "depends on", "runs over", "no instruction", "too small")


def check_names_a_resource(error: InfeasibleMapping) -> None:
    assert any(words in error.what for words in RESOURCES), error


def reason_of(error: InfeasibleMapping) -> str:
    assert error.instead
    return re.sub(r"\d+", "some", error.what)


@cache
def grid_and_einsum(
    form: str, bits: int, persistent: str, columns: int, rows: int
) -> tuple[FlatArch, Einsum]:
    text = workload_text(form, bits)
    for name in ("B", "Nothing"):
        text = text.replace(f"persistent_tensors: {name}\n", f"persistent_tensors: {persistent}\n")
    workload = load_workload(load_document(f"{form}.yaml", text=text))
    arch = load_arch(HARDWARE).with_values({"variables.GridX": columns, "variables.GridY": rows})
    return grid_path(arch, workload, workload.einsums[0]), workload.einsums[0]


GRIDS = ((2, 2), (4, 4), (3, 3), (4, 1), (1, 3), (6, 2), (4, 3), (2, 4))


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 7))])
def test_families_of_every_form_run_between_their_bounds(part: int) -> None:
    """Families of rings on grids of several sizes: even ones, odd ones, lines."""
    executed, bounds = Counter[str](), list[float]()
    for number, form in enumerate(SUMS):
        for ratio in ratios_of_families(form, number + part):
            executed[form] += 1
            bounds.append(ratio)
    assert len(executed) >= 8
    assert median(bounds) > 0.85


def ratios_of_families(form: str, place: int) -> Iterator[float]:
    """Run two families of a form; yield their lower bounds as shares of their cycles."""
    persistent = ("Inputs", "B" if "B" in FORMS[form] else "A", "Nothing")[place % 3]
    bits = 16 if place % 5 == 0 else 32
    flat, einsum = grid_and_einsum(form, bits, persistent, *GRIDS[place % len(GRIDS)])
    space = GridMapspace(grid_of(flat), einsum, GridConstraints(movement="shift"))
    settings = ExecutionSettings(machine=MACHINES[place % 2])
    quick = QuickBound(space, flat, settings.profile(space.grid))
    families = list(space.families())
    for family in random.Random(form).sample(families, min(2, len(families))):
        choice = random.Random(place).choice(space.members(family))
        read = space_time(flat, einsum, space.mapping_of(choice))
        try:
            run = execute_einsum(read, settings)
        except InfeasibleMapping as error:
            check_names_a_resource(error)
            continue
        least = quick.cycles(family, choice.reduction)
        assert quick.cycles(family) <= least <= run.lower_bound_cycles <= run.cycles, family
        energy, exact = quick.energy(family, choice.reduction), predicted_energy(read)
        assert 0.7 * exact < energy <= exact * NEARLY, family
        yield run.lower_bound_cycles / run.cycles


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 20))])
def test_random_shifts_run_or_say_why_not(part: int) -> None:
    """Loops, rings and residences at random: most are refused with a reason, all others run."""
    executed, reasons = 0, Counter[str]()
    for seed in range(50 * part, 50 * (part + 1)):
        try:
            read = random_shift(seed)
            run = execute_einsum(read, ExecutionSettings(machine=MACHINES[seed % 2]))
        except InfeasibleMapping as error:
            reasons[reason_of(error)] += 1
            continue
        executed += bool(read.shifted)
        assert run.lower_bound_cycles <= run.cycles, seed
    assert executed >= 1
    assert len(reasons) >= 5


def random_shift(seed: int) -> SpaceTime:
    """A random mapping whose inputs may shift; raises InfeasibleMapping if not on the grid."""
    rng = random.Random(seed)
    form = rng.choice(SUMS)
    columns, rows = rng.choice([(2, 2), (3, 3), (4, 4), (3, 3), (2, 2), (4, 1), (2, 3)])
    persistent = rng.choice(["Inputs", "Inputs", "A", "Nothing"])
    flat, einsum = grid_and_einsum(form, rng.choice([32, 32, 16]), persistent, columns, rows)
    kept = einsum.outputs[0].rank_variables
    tile, elements = dict(einsum.bounds), {"X": columns, "Y": rows}

    def share(name: str, count: int) -> int:
        tile[name] = -(-tile[name] // count)
        return tile[name]

    spatial = [
        Spatial(name, share(name, count), axis, "Grid")
        for axis, count in elements.items()
        for name in rng.sample(sorted(kept if kept and rng.random() < 0.9 else tile), k=1)
        if count > 1 and rng.random() < 0.9
    ]
    ring = rng.choice([axis for axis, count in elements.items() if count > 1])
    summed = sorted(set(tile) - kept) if rng.random() < 0.95 else sorted(tile)
    loop = rng.choice(summed or sorted(tile))
    turns = Temporal(loop, share(loop, elements[ring] if rng.random() < 0.9 else 2))
    resident = {a.tensor for a in einsum.inputs if a.persistent and rng.random() < 0.8}
    outside = tuple(name for name in einsum.tensors if name not in resident)
    above, below = list[Node](), list[Node]()
    for access in dict.fromkeys(einsum.accesses):
        if access.output or loop not in access.rank_variables or rng.random() < 0.15:
            above.append(Storage((access.tensor,), "SRAM"))
            continue
        used = {n.name for n in spatial if n.rank_variable in access.rank_variables}
        axis = ring if ring not in used else "Y" if ring == "X" else "X"
        axis = axis if rng.random() < 0.9 else rng.choice(["", "X", "Y"])
        buffers = 1 if rng.random() < 0.05 else 2
        below.append(Storage((access.tensor,), "SRAM", buffers=buffers, shift=axis))
    nodes = (Storage(outside, "Host"), *spatial, *above, turns, *below)
    return space_time(flat, einsum, Mapping((*nodes, *random_kernel(rng, einsum, tile, kept))))
